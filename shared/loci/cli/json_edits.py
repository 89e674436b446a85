"""Edits of JSON with comments and trailing commas: adds, replaces or removes one entry, and keeps the rest."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, cast

from loci.core.errors import Refused
from loci.core.json import Json

# Both may be unterminated, and the text is refused later: to search for their ends again and again would take long.
STRING: Final = r'"(?:[^"\\\n]|\\.)*"?'
COMMENT: Final = re.compile(rf"{STRING}|//[^\n]*|/\*(?:.*?(\*/)|.*)", re.DOTALL)
LAST_COMMA: Final = re.compile(rf"{STRING}|,(?=\s*[]}}])")
SAME_LINE: Final = re.compile(r"[ \t]*//[^\r\n]*")
SPACE: Final = re.compile(r"\s*")
DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A member of an object: its name, and the positions of the name and the value."""

    name: str
    start: int
    value: int
    end: int


def read_json(text: str) -> Json:
    """Parse the text. An empty text is an empty object. `Refused` says where the text is wrong."""
    plain = _plain(text)
    try:
        return cast("Json", json.loads(plain, parse_constant=_no_number)) if plain.strip() else {}
    except json.JSONDecodeError as error:
        what = f"line {error.lineno}, column {error.colno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        what = str(error)
    raise Refused(what, "Correct the file", code="BAD_CONFIGURATION")


def with_entry(text: str, section: str, name: str, entry: Json) -> str:
    """Add the entry to the section, or replace the entry with this name."""
    read_json(text)
    plain = _plain(text)
    if not plain.strip():
        return f"{text}{json.dumps({section: {name: entry}}, ensure_ascii=False, indent=2)}\n"
    root = _behind_space(plain, 0)
    held = _member(plain, root, section)
    if held is None:
        return _added(text, root, section, {name: entry})
    if plain.startswith("null", held.value):
        return with_entry(f"{text[: held.value]}{{}}{text[held.end :]}", section, name, entry)
    own = _member(plain, held.value, name)
    if own is None:
        return _added(text, held.value, name, entry)
    return text[: own.value] + _written(text, _margin(text, own.start), entry) + text[own.end :]


def without_entry(text: str, section: str, name: str) -> str:
    """Remove the entry from the section."""
    if entry_in(text, section, name) is None:
        return text
    plain = _plain(text)
    held = _member(plain, _behind_space(plain, 0), section)
    own = held and _member(plain, held.value, name)
    if held is None or own is None:
        return text
    with_commas = _without_comments(text)
    end = _behind_space(with_commas, own.end)
    start = len(text[: own.start].rstrip())
    if with_commas[end] == ",":
        end += 1
        end += start == own.start and text.startswith(" ", end)  # it stands at the beginning of an only line
    else:
        end = own.end
        if own != _members(plain, held.value)[0]:  # the comma before it separates it from nothing
            comma = with_commas.rindex(",", 0, own.start)
            text = text[:comma] + text[comma + 1 :]
            start, end = (start if start == comma else start - 1), end - 1
    left = text[:start] + text[end:]
    close = _behind_space(left, held.value + 1)
    return f"{left[: held.value]}{{{left[close:]}" if left[close] == "}" else left


def with_member(text: str, name: str, value: Json) -> str:
    """Add a member to the whole object."""
    if not _plain(text).strip():
        return f"{text}{json.dumps({name: value}, ensure_ascii=False, indent=2)}\n"
    return _added(text, _behind_space(_plain(text), 0), name, value)


def with_item(text: str, section: str, name: str, item: Json) -> str:
    """Add the item to the end of the list that the section has with this name."""
    if entry_in(text, section, name) is None:
        return with_entry(text, section, name, [item])
    items, (start, end) = _items(text, section, name)
    if not items:
        return f"{text[: start + 1]}{json.dumps(item, ensure_ascii=False)}{text[start + 1 :]}"
    last_start, last_end = items[-1]
    if "\n" not in text[start:end]:
        return f"{text[:last_end]}, {json.dumps(item, ensure_ascii=False)}{text[last_end:]}"
    margin = _margin(text, last_start)
    return f"{text[:last_end]},{_line_end(text)}{margin}{_written(text, margin, item)}{text[last_end:]}"


def without_items(text: str, section: str, name: str, is_own: Callable[[Json], bool]) -> str:
    """Remove these items from the list that the section has with this name; the list, too, if nothing else is in it."""
    held = entry_in(text, section, name)
    if not isinstance(held, list) or not any(map(is_own, held)):
        return text
    if all(map(is_own, held)):
        return without_entry(text, section, name)
    items, _ = _items(text, section, name)
    for at in reversed([at for at, one in enumerate(held) if is_own(one)]):
        # With the comma before it; the first one that stays behind others that go has none any more.
        begin, end = (items[at - 1][1], items[at][1]) if at else (items[0][0], items[1][0])
        text = text[:begin] + text[end:]
        items = _items(text, section, name)[0]
    return text


def _items(text: str, section: str, name: str) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """The positions of the items of a list, and those of the list."""
    plain = _plain(text)
    held = _member(plain, _behind_space(plain, 0), section)
    own = held and _member(plain, held.value, name)
    if own is None or plain[own.value] != "[":
        raise Refused(f"{section}.{name} is no list", "Correct the file", code="BAD_CONFIGURATION")
    found, at = list[tuple[int, int]](), _behind_space(plain, own.value + 1)
    while plain[at] != "]":
        _, end = DECODER.raw_decode(plain, at)
        found.append((at, end))
        at = _behind_space(plain, end)
        at = _behind_space(plain, at + 1) if plain[at] == "," else at
    return found, (own.value, own.end)


def entry_in(text: str, section: str, name: str) -> Json:
    """The entry with this name in the section, or None."""
    read_json(text)
    plain = _plain(text)
    held = _member(plain, _behind_space(plain, 0), section) if plain.strip() else None
    if held is None or plain.startswith("null", held.value):
        return None
    own = _member(plain, held.value, name)
    return None if own is None else cast("Json", json.loads(plain[own.value : own.end]))


def _without_comments(text: str) -> str:
    """Replace comments with spaces, so that all positions stay."""

    def blank(found: re.Match[str]) -> str:
        is_comment = found[0].startswith("//") or found[1]
        return re.sub(r"[^\n]", " ", found[0]) if is_comment else found[0]

    return COMMENT.sub(blank, text)


def _plain(text: str) -> str:
    """Replace comments and trailing commas with spaces: the text is then plain JSON."""
    return LAST_COMMA.sub(lambda found: found[0] if found[0][0] == '"' else " ", _without_comments(text))


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value")


def _behind_space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def _members(plain: str, start: int) -> Sequence[JsonMember]:
    """The members of the object that begins at `start`."""
    found: list[JsonMember] = []
    at = _behind_space(plain, start + 1)
    while plain[at] != "}":
        name, end = DECODER.raw_decode(plain, at)
        value = _behind_space(plain, _behind_space(plain, end) + 1)
        _, end = DECODER.raw_decode(plain, value)
        found.append(JsonMember(name, at, value, end))
        at = _behind_space(plain, end)
        at = _behind_space(plain, at + 1) if plain[at] == "," else at
    return found


def _member(plain: str, start: int, name: str) -> JsonMember | None:
    """The member with this name, or None. Raises `Refused` if there are several, or `start` is not an object."""
    if plain[start] != "{":
        raise Refused(f"there is no object that could hold {name!r}", "Correct the file", code="BAD_CONFIGURATION")
    found = [one for one in _members(plain, start) if one.name == name]
    if len(found) > 1:
        raise Refused(f"{name!r} is there {len(found)} times", "Correct the file", code="BAD_CONFIGURATION")
    return found[0] if found else None


def _added(text: str, start: int, name: str, value: Json) -> str:
    """Add a member at the beginning of the object, in the style of the other members."""
    plain, line_end = _plain(text), _line_end(text)
    members, (_, end) = _members(plain, start), DECODER.raw_decode(plain, start)
    if members and "\n" not in text[start:end]:
        member = f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}, "
        return text[: members[0].start] + member + text[members[0].start :]
    outer = _margin(text, start)
    margin = _margin(text, members[0].start) if members else ""
    margin = margin if len(margin) > len(outer) else outer + _indent(text)
    member = f"{line_end}{margin}{json.dumps(name)}: {_written(text, margin, value)}"
    if members:
        remark = SAME_LINE.match(text, start + 1)  # it is about the whole object
        at = remark.end() if remark else start + 1
        return f"{text[:at]}{member},{text[at:]}"
    inside = text[start + 1 : end - 1]
    return text[: start + 1] + member + (inside if inside.strip() else line_end + outer) + text[end - 1 :]


def _margin(text: str, at: int) -> str:
    """The indentation of the line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent(text: str) -> str:
    """The indentation of the first member of the text."""
    found = re.search(r'\{\s*\n([ \t]+)"', _without_comments(text))
    return found[1] if found else "  "


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _written(text: str, margin: str, value: Json) -> str:
    """The value in the style of the text, below a line with this margin."""
    lines = json.dumps(value, ensure_ascii=False, indent=_indent(text)).split("\n")
    return f"{_line_end(text)}{margin}".join(lines)
