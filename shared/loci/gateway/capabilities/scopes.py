"""The names that code declares, and which of them a place in the code means."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from loci.gateway.capabilities.syntax import FUNCTIONS, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

SCOPES: Final = FUNCTIONS | {
    "program",
    "statement_block",
    "switch_body",
    "for_statement",
    "for_in_statement",
    "catch_clause",
    "class",
    "class_declaration",
    "abstract_class_declaration",
}
NAMED_OUTSIDE: Final = frozenset(
    {
        "function_declaration",
        "generator_function_declaration",
        "class_declaration",
        "abstract_class_declaration",
        "enum_declaration",
        "internal_module",
    }
)
"""Nodes whose names belong to the scope around them."""
NAMED_INSIDE: Final = frozenset({"function_expression", "generator_function", "class"})
NAMES: Final = ("identifier", "shorthand_property_identifier_pattern", "type_identifier")


@dataclass(eq=False, slots=True)
class Scope:
    """A part of the code with the names that it declares."""

    is_function: bool
    outer: "Scope | None" = None
    names: "dict[str, Node]" = field(default_factory=dict[str, "Node"])
    """The node that declares each name first, by the name."""

    def declared(self, name: str) -> "Node | None":
        """The declaration that the name means here. None: it is global."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


def scopes_of(root: "Node") -> dict[int, Scope]:
    """The scopes, by the ids of their nodes."""
    found: dict[int, Scope] = {}
    waiting: list[tuple[Node, Scope | None]] = [(root, None)]
    while waiting:
        node, outer = waiting.pop()
        scope = outer
        if node.type in SCOPES or scope is None:
            scope = found[node.id] = Scope(node.type in FUNCTIONS or outer is None, outer)
        _declare(node, scope)
        waiting.extend((one, scope) for one in reversed(node.named_children))
    return found


def _declare(node: "Node", scope: Scope) -> None:
    match node.type:
        case "variable_declarator":
            is_var = node.parent is not None and node.parent.type == "variable_declaration"
            _put(_function(scope) if is_var else scope, node.child_by_field_name("name"))
        case "for_in_statement":
            kind = node.child_by_field_name("kind")
            if kind is not None:
                _put(_function(scope) if text_of(kind) == "var" else scope, node.child_by_field_name("left"))
        case "required_parameter" | "optional_parameter":
            _put(scope, node.child_by_field_name("pattern"))
        case "arrow_function" | "catch_clause":
            _put(scope, node.child_by_field_name("parameter"))
        case kind if kind in NAMED_OUTSIDE:
            around = scope.outer if kind in SCOPES else scope
            _put(around or scope, node.child_by_field_name("name"))
        case kind if kind in NAMED_INSIDE:
            _put(scope, node.child_by_field_name("name"))
        case _:
            pass


def _put(scope: Scope, pattern: "Node | None") -> None:
    for name in bound_names(pattern):
        scope.names.setdefault(text_of(name), name)


def bound_names(pattern: "Node | None") -> "Iterator[Node]":
    """The names that a pattern declares, without its default values and keys."""
    waiting = [] if pattern is None else [pattern]
    while waiting:
        node = waiting.pop()
        if node.type in NAMES:
            yield node
        elif node.type in ("assignment_pattern", "object_assignment_pattern"):
            waiting += node.children_by_field_name("left")
        elif node.type == "pair_pattern":
            waiting += node.children_by_field_name("value")
        elif node.type in ("object_pattern", "array_pattern", "rest_pattern"):
            waiting += reversed(node.named_children)


def _function(scope: Scope) -> Scope:
    while not scope.is_function and scope.outer is not None:
        scope = scope.outer
    return scope
