"""The header of stored code: `const { path = "a.json", token } = context;`, its parameters with their defaults."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.gateway.capabilities.syntax import is_constant_text, statements, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Binding:
    """A parameter of a header."""

    name: str
    node: "Node"
    """The name."""
    default: "Node | None"
    """A literal. None: the caller must give a value."""
    whole: "Node"
    """The name with its default."""


def header_statements(root: "Node") -> "list[Node]":
    """The first statements, as long as they take plain names out of `context`."""
    found: list[Node] = []
    for one in statements(root):
        if not bindings_of(one):
            break
        found.append(one)
    return found


def bindings_of(statement: "Node") -> list[Binding]:
    """The parameters that the statement declares; empty if it is no header."""
    if statement.type != "lexical_declaration" or text_of(statement.child_by_field_name("kind")) != "const":
        return []
    declared = [one for one in statement.named_children if one.type != "comment"]
    if len(declared) != 1:
        return []
    pattern, value = (declared[0].child_by_field_name(name) for name in ("name", "value"))
    if pattern is None or pattern.type != "object_pattern" or value is None or text_of(value) != "context":
        return []
    found = [_binding(one) for one in pattern.named_children if one.type != "comment"]
    whole = [one for one in found if one is not None]
    return whole if len(whole) == len(found) else []


def _binding(node: "Node") -> Binding | None:
    if node.type == "shorthand_property_identifier_pattern":
        return Binding(text_of(node), node, None, node)
    if node.type != "object_assignment_pattern":
        return None
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "shorthand_property_identifier_pattern":
        return None
    return Binding(text_of(left), left, right, node) if is_literal(right) else None


def is_literal(node: "Node") -> bool:
    """True for a text or a number as such."""
    return node.type == "number" or is_constant_text(node)
