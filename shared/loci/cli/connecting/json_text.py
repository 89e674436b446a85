"""JSON as people keep it, with comments and trailing commas: read with positions, and changed in one place only."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from loci.core.errors import Refused
from loci.core.json import Json, JsonObject

SPACE: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
SAME_LINE: Final = re.compile(r"(?:[ \t]+|/\*.*?\*/)*(?://[^\n\r]*)?", re.DOTALL)
SCALAR: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|[-+.0-9A-Za-z]+')
DEEPEST: Final = 100


@dataclass(frozen=True, slots=True)
class Node:
    """A value, and the place at which it is written."""

    value: Json
    start: int
    end: int
    members: Sequence["Member"] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """A name in an object, and its value. `comma` is the place of the comma behind it; None if there is none."""

    name: str
    start: int
    node: Node
    comma: int | None


def read_json(text: str) -> Node:
    """Read the text; one without a value is an empty object. `Refused` says where it is wrong."""
    reader = _Reader(text)
    if reader.space() == len(text):
        return Node({}, len(text), len(text))
    found = reader.value(0)
    if reader.space() != len(text):
        raise reader.wrong("something stands behind the end")
    return found


def with_entry(text: str, section: str, name: str, entry: JsonObject) -> str:
    """Put the entry into the section, or in place of the one that is there."""
    root = read_json(text)
    if root.start == root.end:
        return text + _shown({section: {name: entry}}, "", "  ", "\n") + "\n"
    unit, line_end = _indent_of(text, root), "\r\n" if "\r\n" in text else "\n"
    held = _one(root, section)
    if held is None:
        return _added(text, root, section, {name: entry}, unit, line_end)
    if held.node.value is None:
        shown = _shown({name: entry}, _margin(text, held.start), unit, line_end)
        return text[: held.node.start] + shown + text[held.node.end :]
    own = _one(held.node, name)
    if own is None:
        return _added(text, held.node, name, entry, unit, line_end)
    margin = _margin(text, own.start)
    return text[: own.node.start] + _shown(entry, margin, unit, line_end) + text[own.node.end :]


def without_entry(text: str, section: str, name: str) -> str:
    """Take the entry out of the section."""
    held, own = _entry(text, section, name)
    if held is None or own is None:
        return text
    done = _without(text, held.node, own)
    start, end = held.node.start, held.node.end - (len(text) - len(done))
    return done if done[start + 1 : end - 1].strip() else f"{done[:start]}{{}}{done[end:]}"


def without_section(text: str, section: str) -> str:
    """Take the section out if nothing is in it, not even a remark."""
    root = read_json(text)
    held = _one(root, section)
    if held is None or held.node.value is None or text[held.node.start + 1 : held.node.end - 1].strip():
        return text
    done = _without(text, root, held)
    left = read_json(done)
    is_blank = not done[left.start + 1 : left.end - 1].strip()
    return f"{done[: left.start]}{{}}{done[left.end :]}" if is_blank else done


def _without(text: str, node: Node, own: Member) -> str:
    """Take a member out of the object, with its line if it has that for itself."""
    at = list(node.members).index(own)
    start, end = own.start, own.node.end if own.comma is None else own.comma + 1
    margin = start - len(text[:start]) + len(text[:start].rstrip(" \t"))
    rest = text.find("\n", end)
    if text[:margin].endswith("\n") and rest >= 0 and not text[end:rest].strip():
        start, end = margin, rest + 1  # it has its lines for itself
    elif at:
        start = margin
    done = text[:start] + text[end:]
    before = node.members[at - 1].comma if at and own.comma is None else None
    return done if before is None else done[:before] + done[before + 1 :]


def entry_in(text: str, section: str, name: str) -> Json:
    """The entry that is there; None if there is none."""
    _, own = _entry(text, section, name)
    return None if own is None else own.node.value


def _entry(text: str, section: str, name: str) -> tuple[Member | None, Member | None]:
    """The section and the entry in it. A section of `null` holds none."""
    held = _one(read_json(text), section)
    return held, None if held is None or held.node.value is None else _one(held.node, name)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def space(self) -> int:
        found = SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at

    def wrong(self, what: str) -> Refused:
        line = self._text.count("\n", 0, self._at) + 1
        column = self._at - self._text.rfind("\n", 0, self._at)
        return Refused(f"line {line}, column {column}: {what}", "Correct the file", code="BAD_CONFIGURATION")

    def value(self, depth: int) -> Node:
        start = self.space()
        if depth > DEEPEST:
            raise self.wrong("too many brackets inside each other")
        match self._text[start : start + 1]:
            case "{":
                members = self._members(depth)
                return Node({one.name: one.node.value for one in members}, start, self._at, members)
            case "[":
                items = self._items(depth)
                return Node(items, start, self._at)
            case _:
                return Node(self._scalar(), start, self._at)

    def _scalar(self) -> Json:
        found = SCALAR.match(self._text, self._at)
        try:
            value = cast("Json", json.loads(found[0] if found else ""))
        except ValueError:
            raise self.wrong("a value is expected here") from None
        self._at = found.end() if found else self._at
        return value

    def _items(self, depth: int) -> list[Json]:
        items: list[Json] = []
        self._at += 1
        while not self._closes("]"):
            items.append(self.value(depth + 1).value)
            if self._comma() is None and not self._is("]"):
                raise self.wrong("a comma or ] is expected here")
        return items

    def _members(self, depth: int) -> list[Member]:
        members: list[Member] = []
        self._at += 1
        while not self._closes("}"):
            start = self._at
            name = self._scalar() if self._is('"') else None
            if not isinstance(name, str):
                raise self.wrong("a name in quotation marks is expected here")
            self.space()
            if not self._is(":"):
                raise self.wrong("a colon is expected here")
            self._at += 1
            node = self.value(depth + 1)
            members.append(Member(name, start, node, self._comma()))
            if members[-1].comma is None and not self._is("}"):
                raise self.wrong("a comma or } is expected here")
        return members

    def _is(self, sign: str) -> bool:
        return self._text.startswith(sign, self._at)

    def _closes(self, sign: str) -> bool:
        self.space()
        if not self._is(sign):
            return False
        self._at += 1
        return True

    def _comma(self) -> int | None:
        at = self.space()
        if not self._is(","):
            return None
        self._at += 1
        return at


def _one(node: Node, name: str) -> Member | None:
    """The member of this name. `Refused` if there are several, or it is in something that is no object."""
    if not isinstance(node.value, dict):
        raise Refused(f"there is no object that could hold {name!r}", "Correct the file", code="BAD_CONFIGURATION")
    found = [one for one in node.members if one.name == name]
    if len(found) > 1:
        raise Refused(f"{name!r} is there {len(found)} times", "Correct the file", code="BAD_CONFIGURATION")
    return found[0] if found else None


def _added(text: str, node: Node, name: str, value: Json, unit: str, line_end: str) -> str:
    """Add a member at the end of the object, written as its others are."""
    inside, close = text[node.start + 1 : node.end - 1], node.end - 1
    outer = _margin(text, node.start)
    if not node.members:
        margin = outer + unit
        member = f"{line_end}{margin}{json.dumps(name)}: {_shown(value, margin, unit, line_end)}"
        kept = inside if inside.strip() else f"{line_end}{outer}"
        return text[: node.start + 1] + member + kept + text[close:]
    last = node.members[-1]
    if "\n" not in inside:
        member = f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        end = last.node.end if last.comma is None else last.comma + 1
        return text[:end] + (f", {member}" if last.comma is None else f" {member},") + text[end:]
    margin = _margin(text, last.start)
    member = f"{line_end}{margin}{json.dumps(name)}: {_shown(value, margin, unit, line_end)}"
    end = last.node.end if last.comma is None else last.comma + 1
    remark = SAME_LINE.match(text, end)
    behind = remark.end() if remark else end  # a remark about the last member stays with it
    if last.comma is None:
        return text[:end] + "," + text[end:behind] + member + text[behind:]
    return text[:behind] + f"{member}," + text[behind:]


def _margin(text: str, at: int) -> str:
    """The white space at the beginning of the line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_of(text: str, root: Node) -> str:
    first = _margin(text, root.members[0].start) if root.members else ""
    return first.removeprefix(_margin(text, root.start)) or "  "


def _shown(value: Json, margin: str, unit: str, line_end: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return f"{line_end}{margin}".join(lines)
