"""Code as it is stored: without secrets, with its literals as parameters that have their old values as defaults."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from loci.core.secrets_in_text import has_known_format, secret_kind, secrets_in, without_secrets
from loci.gateway.capabilities.header import Binding, bindings_of, header_statements
from loci.gateway.capabilities.literals import TEMPLATE, FoundLiteral, has_split_secret, literals_of
from loci.gateway.capabilities.normal_form import identity_of
from loci.gateway.capabilities.parameter_names import RESERVED, wished_name
from loci.gateway.capabilities.scopes import scopes_of
from loci.gateway.capabilities.syntax import (
    TYPES_ONLY,
    every_node,
    member_name,
    root_of,
    statements,
    string_value,
    text_of,
    whole_program,
)

if TYPE_CHECKING:
    from tree_sitter import Node

LARGEST_CODE: Final = 32 * 1024
"""Characters of code that is learned."""
MOST_PARAMETERS: Final = 12
LONGEST_DEFAULT: Final = 500
PLAIN_NUMBERS: Final = frozenset({"0", "1", "2"})
"""Literals that people seldom want to change."""
IDENTIFIERS: Final = frozenset(
    {"identifier", "type_identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"}
)


@dataclass(frozen=True, slots=True)
class LearnedCode:
    """Code without secrets, and what it needs of its caller."""

    code: str
    identity: str
    """The same for code that differs in layout, comments and names of variables alone."""
    needs: tuple[str, ...]
    """The keys of `context` that it must be given."""


def learned_code(code: str, context: Collection[str] = ()) -> LearnedCode | None:
    """The code as it is stored. None if it cannot be parsed, is too large, or has a secret that cannot be taken out.

    `context`: the keys of the context with which it ran.
    """
    if len(code) > LARGEST_CODE:
        return None
    source = whole_program(code)
    root = root_of(source)
    if root is None or not statements(root) or _is_unclear(root):
        return None
    made = _Rewriter(root, source.encode("utf-8", "replace"), context).rewritten()
    if made is None:
        return None
    text, secret_names = made
    again = root_of(text)
    if again is None or len(text) > LARGEST_CODE or _has_secret(again) or has_split_secret(again):
        return None
    needs = [*secret_names, *(one for one in _read_keys(again, context) if one not in secret_names)]
    return LearnedCode(text, identity_of(again), tuple(needs))


def _is_unclear(root: "Node") -> bool:
    """True if a block comes first once types are gone: the sandbox might take it for an object."""
    first = next((one for one in root.named_children if one.type != "comment"), None)
    rest = statements(root)
    return first is not None and first.type in TYPES_ONLY and bool(rest) and rest[0].type == "statement_block"


@dataclass(frozen=True, slots=True)
class _Change:
    start: int
    end: int
    text: str


class _Rewriter:
    def __init__(self, root: "Node", source: bytes, context: Collection[str]) -> None:
        self._root = root
        self._source = source
        self._headers = header_statements(root)
        self._bound = {one.name for head in self._headers for one in bindings_of(head)}
        self._taken = {*_identifiers(root), *_context_keys(root), *context}
        self._hides_context = any("context" in one.names for one in scopes_of(root).values())
        self._params: dict[str, str | None] = {}
        """The default of each parameter as it is written, by name; None if it is a secret."""
        self._known: dict[tuple[str, str], str] = {}

    def rewritten(self) -> tuple[str, list[str]] | None:
        """The code with a header, and the names of its secrets. None if a secret cannot be taken out."""
        changes = [*self._comments(), *self._header_secrets()]
        inside = [(one.start_byte, one.end_byte) for one in self._headers]
        found = [one for one in literals_of(self._root) if not any(a <= one.start < b for a, b in inside)]
        secrets = [one for one in found if one.secret]
        if secrets and self._hides_context:
            return None
        changes += [self._secret(one) for one in secrets]
        if not self._hides_context:
            changes += [self._parameter(one) for one in found if not one.secret and self._is_worth_it(one)]
        secret_names = [name for name, default in self._params.items() if default is None]
        body = _applied(self._source, changes)
        new = [name if default is None else f"{name} = {default}" for name, default in self._params.items()]
        new = [one for one in new if one not in self._bound]
        header = f"const {{ {', '.join(new)} }} = context;\n" if new else ""
        return header + body, secret_names

    def _comments(self) -> list[_Change]:
        found = [one for one in every_node(self._root) if one.type == "comment" and secrets_in(text_of(one))]
        return [_Change(one.start_byte, one.end_byte, without_secrets(text_of(one))) for one in found]

    def _header_secrets(self) -> list[_Change]:
        changes: list[_Change] = []
        for one in (one for head in self._headers for one in bindings_of(head)):
            if one.default is not None and _is_secret(one):
                changes.append(_Change(one.whole.start_byte, one.whole.end_byte, one.name))
                self._params[one.name] = None
        return changes

    def _secret(self, one: FoundLiteral) -> _Change:
        name = self._name(one.secret or "secret", one.value)
        self._params.setdefault(name, None)
        return _Change(one.start, one.end, f"${{{name}}}" if one.name == TEMPLATE else name)

    def _parameter(self, one: FoundLiteral) -> _Change:
        text = self._source[one.start : one.end].decode("utf-8", "replace")
        name = self._name(wished_name(one), text)
        self._params.setdefault(name, text)
        return _Change(one.start, one.end, name)

    def _is_worth_it(self, one: FoundLiteral) -> bool:
        """True if somebody might want another value there."""
        if one.role == "other" or len({*self._params, *self._bound}) >= MOST_PARAMETERS or not wished_name(one):
            return False
        if one.is_number:
            return one.value not in PLAIN_NUMBERS and not one.value.endswith("n")
        is_short = len(one.value) <= LONGEST_DEFAULT and one.end - one.start <= LONGEST_DEFAULT
        return is_short and len(one.value) > 1 and any(char.isalnum() for char in one.value)

    def _name(self, wish: str, value: str) -> str:
        """A free name; the same for the same literal with the same purpose."""
        if (known := self._known.get((wish, value))) is not None:
            return known
        base = f"{wish}Value" if wish in RESERVED else wish
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}{number}", number + 1
        self._taken.add(name)
        self._known[wish, value] = name
        return name


def _is_secret(one: Binding) -> bool:
    return (
        one.default is not None
        and one.default.type != "number"
        and bool(secret_kind(string_value(one.default), one.name))
    )


def _applied(source: bytes, changes: Sequence[_Change]) -> str:
    parts, at = list[bytes](), 0
    for one in sorted(changes, key=lambda one: (one.start, -one.end)):
        if one.start < at:
            continue  # it lies in one that is gone
        parts += (source[at : one.start], one.text.encode())
        at = one.end
    return b"".join((*parts, source[at:])).decode("utf-8", "replace")


def _has_secret(root: "Node") -> bool:
    """True if a secret is left, as a key or in a regular expression, say."""
    if any(one.secret for one in literals_of(root)):
        return True
    for one in every_node(root):
        if one.child_count == 0 or one.type == "string":
            is_written_by_hand = one.type.endswith("identifier") or one.type == "regex_pattern"
            if has_known_format(text_of(one)) if is_written_by_hand else secrets_in(text_of(one)):
                return True
    return False


def _identifiers(root: "Node") -> set[str]:
    """The variables and classes that the code names."""
    return {text_of(one) for one in every_node(root) if one.type in IDENTIFIERS}


def _context_keys(root: "Node") -> set[str]:
    """The keys that the code reads from `context`."""
    found: set[str] = set()
    for one in every_node(root):
        if one.type in ("member_expression", "subscript_expression"):
            if text_of(one.child_by_field_name("object")) == "context":
                found.add(member_name(one))
        elif one.type == "variable_declarator" and text_of(one.child_by_field_name("value")) == "context":
            pattern = one.child_by_field_name("name")
            keys = [] if pattern is None else pattern.named_children
            found |= {text_of(key.child_by_field_name("key")) for key in keys if key.type == "pair_pattern"}
    return found


def _read_keys(root: "Node", context: Collection[str]) -> list[str]:
    read = {*_identifiers(root), *_context_keys(root)}
    return [one for one in context if one in read]
