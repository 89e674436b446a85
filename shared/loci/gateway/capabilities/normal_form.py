"""The normal form of code: the same for code that differs in layout, comments, types and names of variables alone.

Literals, and the names of tools, properties and globals stay. So do the defaults of a header, as if they stood where
their names are used: code and the same code with parameters have one normal form.
"""

import json
from typing import TYPE_CHECKING, Final

from loci.core.ids import content_id
from loci.gateway.capabilities.header import Binding, bindings_of, header_statements
from loci.gateway.capabilities.scopes import Scope, scopes_of
from loci.gateway.capabilities.syntax import is_constant_text, string_value, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

LEFT_OUT: Final = frozenset(
    {
        "comment",
        "type_annotation",
        "type_arguments",
        "type_parameters",
        "interface_declaration",
        "type_alias_declaration",
        "ambient_declaration",
        "function_signature",
        "implements_clause",
        "predefined_type",
        "hash_bang_line",
        "type_predicate_annotation",
        "asserts_annotation",
    }
)
FIRST_ONLY: Final = frozenset({"as_expression", "satisfies_expression", "non_null_expression"})
CLOSING: Final = (")", "]", "}")
HOLDS_CHAIN: Final = ("member_expression", "subscript_expression", "call_expression")


def identity_of(root: "Node") -> str:
    """The id of the code's normal form."""
    return content_id(normal_form(root), length=32)


def normal_form(root: "Node") -> str:
    """The code as one line of names, literals, operators and brackets."""
    return _Writer(root).written()


class _Writer:
    def __init__(self, root: "Node") -> None:
        self._root = root
        self._scopes = scopes_of(root)
        self._headers = {one.id for one in header_statements(root)}
        heads = [one for one in root.named_children if one.id in self._headers]
        self._bindings: dict[int, Binding] = {b.node.id: b for head in heads for b in bindings_of(head)}
        self._numbers: dict[int, int] = {}
        self._parts: list[str] = []

    def written(self) -> str:
        self._write(self._root, self._scopes[self._root.id])
        return " ".join(self._parts)

    def _write(self, node: "Node", scope: Scope) -> None:  # noqa: C901 (one case a kind of node)
        scope = self._scopes.get(node.id, scope)
        match node.type:
            case "identifier" | "type_identifier":
                self._name(node, scope)
            case "shorthand_property_identifier":
                self._property(text_of(node), node, None, scope)
            case "shorthand_property_identifier_pattern":
                self._property(text_of(node), node, None, scope)
            case "object_assignment_pattern":
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                if left is not None and left.type == "shorthand_property_identifier_pattern":
                    self._property(text_of(left), left, right, scope)
                else:
                    self._children(node, scope)
            case "pair" | "pair_pattern":
                self._pair(node, scope)
            case "string":
                self._parts.append(json.dumps(string_value(node)))
            case kind if kind in FIRST_ONLY:
                self._write(node.named_children[0], scope)
            case "type_assertion":
                self._write(node.named_children[-1], scope)
            case "parenthesized_expression":
                self._parenthesized(node, scope)
            case "arrow_function":
                self._arrow(node, scope)
            case _:
                self._children(node, scope)

    def _children(self, node: "Node", scope: Scope) -> None:
        if node.child_count == 0 or is_constant_text(node):
            self._parts.append(text_of(node))
            return
        self._parts += ("(", node.type)
        children = [one for one in node.children if not self._is_left_out(one, node)]
        for at, one in enumerate(children):
            following = children[at + 1] if at + 1 < len(children) else None
            if one.type == "," and following is not None and following.type in CLOSING:
                continue
            self._write(one, scope)
        self._parts.append(")")

    def _is_left_out(self, node: "Node", parent: "Node") -> bool:
        if node.type in LEFT_OUT or node.id in self._headers:
            return True
        if node.type == "empty_statement":
            return parent.type in ("program", "statement_block", "class_body")
        if node.type == "?":
            return parent.type in ("optional_parameter", "public_field_definition")
        return node.type == ";" and parent.type != "for_statement"

    def _name(self, node: "Node", scope: Scope) -> None:
        declared = scope.declared(text_of(node))
        if declared is None:
            self._parts.append(text_of(node))
            return
        binding = self._bindings.get(declared.id)
        if binding is None:
            self._parts.append(f"${self._numbers.setdefault(declared.id, len(self._numbers) + 1)}")
        elif binding.default is None:
            self._parts += ("(", "member_expression", "context", ".", binding.name, ")")
        else:
            self._write(binding.default, scope)

    def _property(self, key: str, value: "Node", default: "Node | None", scope: Scope) -> None:
        """A property that is named like the variable: written as if both were there."""
        self._parts += ("(", "pair", key)
        self._name(value, scope)
        if default is not None:
            self._parts.append("=")
            self._write(default, scope)
        self._parts.append(")")

    def _pair(self, node: "Node", scope: Scope) -> None:
        key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
        self._parts += ("(", "pair")
        if key is not None and key.type == "string" and string_value(key).isidentifier():
            self._parts.append(string_value(key))
        elif key is not None:
            self._write(key, scope)
        if value is not None and value.type == "assignment_pattern":
            for name, sign in (("left", ""), ("right", "=")):
                self._parts += [sign] if sign else []
                if (part := value.child_by_field_name(name)) is not None:
                    self._write(part, scope)
        elif value is not None:
            self._write(value, scope)
        self._parts.append(")")

    def _parenthesized(self, node: "Node", scope: Scope) -> None:
        """Brackets say nothing that the tree does not, except where they end an optional chain."""
        inner = [one for one in node.named_children if one.type not in LEFT_OUT]
        ends_chain = node.parent is not None and node.parent.type in HOLDS_CHAIN and "?." in text_of(node)
        if len(inner) != 1 or ends_chain:
            self._children(node, scope)
        else:
            self._write(inner[0], scope)

    def _arrow(self, node: "Node", scope: Scope) -> None:
        """`x => y` and `(x) => y` are the same."""
        if (parameter := node.child_by_field_name("parameter")) is None:
            self._children(node, scope)
            return
        self._parts += ("(", "arrow_function")
        for one in node.children:
            if one.id != parameter.id:
                if not self._is_left_out(one, node):
                    self._write(one, scope)
                continue
            self._parts += ("(", "formal_parameters", "(", "(", "required_parameter")
            self._name(parameter, scope)
            self._parts += (")", ")", ")")
        self._parts.append(")")
