"""The syntax of TypeScript, as tree-sitter sees it."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

DEEPEST: Final = 200
"""Levels of a tree. Others walk it with recursion, and nobody writes code that is nested so deep."""
TYPES_ONLY: Final = frozenset({"interface_declaration", "type_alias_declaration", "ambient_declaration", "comment"})
FUNCTIONS: Final = frozenset(
    {
        "arrow_function",
        "function_declaration",
        "function_expression",
        "generator_function",
        "generator_function_declaration",
        "method_definition",
    }
)
ESCAPE: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
PLAIN_ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "\0",
    "\n": "",
    "\r\n": "",
}


def root_of(code: str) -> "Node | None":
    """The tree of the code. None if it cannot be parsed, or is nested too deep."""
    root = _parser().parse(code.encode("utf-8", "replace")).root_node
    return None if root.has_error or _is_too_deep(root) else root


def whole_program(code: str) -> str:
    """The code as it runs below a header: `{a: 1}` alone is an object to the sandbox, and a block below others."""
    given = re.sub(r"^#!", "//", code)
    if re.match(r"\s*\{", given):
        wrapped = "(" + re.sub(r";\s*$", "", given).strip() + "\n)"
        root = root_of(wrapped)
        if root is not None and _is_one_object(root):
            return wrapped
    return given


def statements(root: "Node") -> "list[Node]":
    """The statements of a program that do something."""
    return [one for one in root.named_children if one.type not in TYPES_ONLY and one.type != "hash_bang_line"]


def text_of(node: "Node | None") -> str:
    """The source of the node."""
    return "" if node is None else (node.text or b"").decode("utf-8", "replace")


def every_node(root: "Node") -> "Iterator[Node]":
    """All nodes, in the order of the source."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def string_value(node: "Node") -> str:
    """The value of a string, or of a template without substitutions."""
    return ESCAPE.sub(_escaped, text_of(node)[1:-1])


def is_constant_text(node: "Node") -> bool:
    """True for a string, and for a template without substitutions that no function reads."""
    if node.type == "string":
        return True
    if node.type != "template_string" or (node.parent is not None and node.parent.type == "call_expression"):
        return False
    return not any(one.type == "template_substitution" for one in node.named_children)


def member_name(node: "Node | None") -> str:
    """The last name in `a`, `a.b` or `a["b"]`; empty if it has none."""
    if node is None:
        return ""
    if node.type == "member_expression":
        return text_of(node.child_by_field_name("property")).lstrip("#")
    if node.type == "subscript_expression":
        index = node.child_by_field_name("index")
        return string_value(index) if index is not None and is_constant_text(index) else ""
    if node.type in ("parenthesized_expression", "non_null_expression", "await_expression") and node.named_children:
        return member_name(node.named_children[0])
    return text_of(node).lstrip("#") if node.type.endswith(("identifier", "identifier_pattern")) else ""


def key_name(node: "Node | None") -> str:
    """The name of a property's key; empty if it is computed."""
    if node is None or node.type == "computed_property_name":
        return ""
    return string_value(node) if node.type == "string" else text_of(node)


@lru_cache(1)
def _parser() -> "Parser":
    import tree_sitter_typescript  # 5 MB, which only learning needs
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_typescript.language_typescript()))


def _is_one_object(root: "Node") -> bool:
    found = statements(root)
    if len(found) != 1 or found[0].type != "expression_statement":
        return False
    inner = found[0].named_children[0]
    held = [one for one in inner.named_children if one.type != "comment"]
    return inner.type == "parenthesized_expression" and len(held) == 1 and held[0].type == "object"


def _is_too_deep(root: "Node") -> bool:
    cursor, depth = root.walk(), 0
    while True:
        if cursor.goto_first_child():
            depth += 1
            if depth > DEEPEST:
                return True
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return False
            depth -= 1


def _escaped(found: "re.Match[str]") -> str:
    point = found[1] or found[2] or found[3]
    if point:
        number = int(point, 16)
        return chr(number) if number < 0x110000 else ""
    return PLAIN_ESCAPES.get(found[4], found[4])
