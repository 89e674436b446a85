"""The literals of code: what each is for, and which hold secrets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from loci.core.secrets_in_text import has_known_format, is_secret_number, secret_kind, secrets_in
from loci.gateway.capabilities.syntax import every_node, is_constant_text, key_name, member_name, string_value, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

Role = Literal["property", "argument", "constant", "other"]
FIXED: Final = frozenset(
    {
        *("literal_type", "import_statement", "export_statement", "enum_assignment", "enum_body", "property_signature"),
        *("method_definition", "public_field_definition", "method_signature", "module", "ambient_declaration"),
        *("import_specifier", "object_type", "computed_property_name"),
    }
)
"""A literal right below one of these is part of the syntax."""
WRAPPERS: Final = frozenset(
    {"parenthesized_expression", "as_expression", "satisfies_expression", "unary_expression", "await_expression"}
)
NAMED_BY: Final = {
    "assignment_expression": "left",
    "augmented_assignment_expression": "left",
    "assignment_pattern": "left",
    "object_assignment_pattern": "left",
    "required_parameter": "pattern",
    "optional_parameter": "pattern",
    "public_field_definition": "name",
}
"""The field that holds the name of a value, by the kind of node that the value is for."""
DECLARES: Final = {"variable_declarator": ("name", "value"), "object_assignment_pattern": ("left", "right")}
SUBSTITUTION: Final = "template_substitution"
TEMPLATE: Final = "${}"
"""The name of a part of a template."""


@dataclass(frozen=True, slots=True)
class FoundLiteral:
    """A literal, or several that are added up, where an expression may stand."""

    start: int
    end: int
    role: Role
    name: str
    """The name of the property, function or variable that the literal is for; empty if there is no such name."""
    secret: str | None
    """The name for its secret. None: it holds none."""
    is_number: bool
    value: str


def literals_of(root: "Node") -> Iterator[FoundLiteral]:
    """The literals that a name could replace: not the literals of types, keys and imports."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        found = list(_at(node))
        if found:
            yield from found
            if node.type != "template_string":
                continue
        if node.type not in ("import_statement", "object_type"):
            held = {(one.start, one.end) for one in found}
            waiting += [one for one in reversed(node.children) if (one.start_byte, one.end_byte) not in held]


def _at(node: "Node") -> Iterator[FoundLiteral]:
    """The literals that begin with this node."""
    if is_constant_text(node) or node.type == "number":
        if not _is_fixed(node):
            yield _literal(node)
    elif node.type == "template_string":
        yield from _fragments(node)
    elif node.type == "binary_expression" and text_of(node.child_by_field_name("operator")) == "+":
        yield from _added(node)


def _literal(node: "Node") -> FoundLiteral:
    role, name = role_of(node)
    is_number = node.type == "number"
    value = text_of(node) if is_number else string_value(node)
    secret = (name if is_secret_number(name, value) else None) if is_number else secret_kind(value, name)
    return FoundLiteral(node.start_byte, node.end_byte, role, name, secret, is_number, value)


def _fragments(node: "Node") -> Iterator[FoundLiteral]:
    """The parts of a template that hold secrets; or all of it if it does as a whole, which says only constants."""
    whole = constant(node)
    if whole is not None and (kind := secret_kind(whole, role_of(node)[1])) and not _is_tagged(node):
        yield FoundLiteral(node.start_byte, node.end_byte, "other", "", kind, False, whole)
        return
    for one in node.named_children:
        if one.type == "string_fragment":
            text = text_of(one)
            for found in secrets_in(text):
                start, end = (one.start_byte + len(text[:at].encode()) for at in (found.start, found.end))
                yield FoundLiteral(start, end, "other", TEMPLATE, found.kind, False, text[found.start : found.end])


def _added(node: "Node") -> Iterator[FoundLiteral]:
    """Runs of literals that are added up and hold a secret only together."""
    if node.parent is not None and node.parent.type == "binary_expression" and _is_sum(node.parent):
        return  # the outermost has them all
    run: list[Node] = []
    for one in [*_summands(node), None]:
        if one is not None and constant(one) is not None:
            run.append(one)
            continue
        if len(run) > 1:
            text = "".join(constant(part) or "" for part in run)
            kind = secret_kind(text, role_of(node)[1] if one is None and run[0].start_byte == node.start_byte else "")
            if kind and not any(secret_kind(constant(part) or "") for part in run):
                yield FoundLiteral(run[0].start_byte, run[-1].end_byte, "other", "", kind, False, text)
        run = []


def has_split_secret(root: "Node") -> bool:
    """True if a known kind of secret is put together from constants with names, or from the texts of an array."""
    nodes = list(every_node(root))
    named = dict[str, str]()
    for one in nodes:
        fields = DECLARES.get(one.type)
        name, value = (one.child_by_field_name(field) for field in fields) if fields else (None, None)
        if value is not None and (text := named.get(text_of(value), constant(value))) is not None:
            named[text_of(name)] = text
    for one in nodes:
        parts: list[Node] = []
        if one.type == "binary_expression" and _is_sum(one):
            parts = _summands(one)
        elif one.type == "template_string":
            held = one.named_children
            parts = [
                part.named_children[0] if part.type == SUBSTITUTION and part.named_children else part for part in held
            ]
        elif one.type == "array":
            parts = one.named_children
        texts = [named.get(text_of(part)) or constant(part) or _fragment(part) for part in parts]
        if len(texts) > 1 and not any(map(has_known_format, texts)) and has_known_format("".join(texts)):
            return True
    return False


def _fragment(node: "Node") -> str:
    return text_of(node) if node.type == "string_fragment" else "\0"


def constant(node: "Node") -> str | None:
    """The text that the node always is. None if that is not plain to see."""
    if node.type == "number":
        return text_of(node)
    if node.type == "string":
        return string_value(node)
    if node.type == "parenthesized_expression" and node.named_child_count == 1:
        return constant(node.named_children[0])
    if node.type == "binary_expression" and _is_sum(node):
        parts = [constant(one) for one in _summands(node)]
        return None if None in parts else "".join(one or "" for one in parts)
    if node.type != "template_string":
        return None
    parts = [
        (constant(one.named_children[0]) if one.named_child_count == 1 else None)
        if one.type == "template_substitution"
        else text_of(one)
        for one in node.named_children
    ]
    return None if None in parts else "".join(one or "" for one in parts)


def _summands(node: "Node") -> "list[Node]":
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    found: list[Node] = []
    for one in (left, right):
        if one is not None:
            found += _summands(one) if one.type == "binary_expression" and _is_sum(one) else [one]
    return found


def _is_sum(node: "Node") -> bool:
    return text_of(node.child_by_field_name("operator")) == "+"


def _is_tagged(node: "Node") -> bool:
    return node.parent is not None and node.parent.type == "call_expression"


def _is_fixed(node: "Node") -> bool:
    """True for a literal that is no expression, or whose place allows nothing else."""
    parent = node.parent
    if parent is None or parent.type in FIXED:
        return True
    if parent.type in ("pair", "pair_pattern"):
        return parent.child_by_field_name("key") == node
    if parent.type == "expression_statement":
        return parent.parent is not None and parent.parent.named_children[-1] != parent  # a directive
    if parent.type == "arguments" and parent.parent is not None:
        called = parent.parent.child_by_field_name("function")
        return called is not None and text_of(called) in ("import", "require")
    return False


def role_of(node: "Node") -> tuple[Role, str]:
    """The role of the literal, and the name of the property, function or variable that it is for."""
    inner, parent = node, node.parent
    while parent is not None and parent.type in WRAPPERS:
        inner, parent = parent, parent.parent
    if parent is None:
        return "other", ""
    match parent.type:
        case "pair":
            return "property", key_name(parent.child_by_field_name("key"))
        case "arguments" if parent.parent is not None:
            called = parent.parent.child_by_field_name("function") or parent.parent.child_by_field_name("constructor")
            return "argument", _argument_name(parent, inner, member_name(called))
        case "variable_declarator":
            declaration = parent.parent
            is_const = declaration is not None and text_of(declaration.child_by_field_name("kind")) == "const"
            return "constant" if is_const else "other", member_name(parent.child_by_field_name("name"))
        case kind if kind in NAMED_BY:
            return "other", member_name(parent.child_by_field_name(NAMED_BY[kind]))
        case "binary_expression":
            other = parent.child_by_field_name("right" if parent.child_by_field_name("left") == inner else "left")
            return "other", member_name(other)
        case _:
            return "other", ""


def _argument_name(arguments: "Node", node: "Node", called: str) -> str:
    """The name of the function; for a call such as `set("token", x)`, the key before the value."""
    given = [one for one in arguments.named_children if one.type != "comment"]
    at = next((at for at, one in enumerate(given) if one == node), 0)
    if at == 1 and is_constant_text(given[0]) and called in ("set", "append", "setItem", "header", "setRequestHeader"):
        return string_value(given[0])
    return called
