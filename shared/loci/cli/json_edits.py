"""JSON as people keep it, with comments and trailing commas: one entry is added, replaced or taken out."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, cast

from loci.core.errors import Refused
from loci.core.json import Json, JsonObject

# Either may lack its end, and the text is refused then: to try again at each later beginning would take long.
STRING: Final = r'"(?:[^"\\\n]|\\.)*"?'
COMMENT: Final = re.compile(rf"{STRING}|//[^\n]*|/\*(?:.*?(\*/)|.*)", re.DOTALL)
LAST_COMMA: Final = re.compile(rf"{STRING}|,(?=\s*[]}}])")
SAME_LINE: Final = re.compile(r"[ \t]*//[^\r\n]*")
SPACE: Final = re.compile(r"\s*")
DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Member:
    """A name in an object, and its value: where both are written."""

    name: str
    start: int
    value: int
    end: int


def read_json(text: str) -> Json:
    """Read the text; one without a value is an empty object. `Refused` says where it is wrong."""
    plain = _plain(text)
    try:
        return cast("Json", json.loads(plain, parse_constant=_no_number)) if plain.strip() else {}
    except json.JSONDecodeError as error:
        what = f"line {error.lineno}, column {error.colno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        what = str(error)
    raise Refused(what, "Correct the file", code="BAD_CONFIGURATION")


def with_entry(text: str, section: str, name: str, entry: JsonObject) -> str:
    """Put the entry into the section, or in place of the one that is there."""
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
    """Take the entry out of the section."""
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


def entry_in(text: str, section: str, name: str) -> Json:
    """The entry that is there; None if there is none."""
    read_json(text)
    plain = _plain(text)
    held = _member(plain, _behind_space(plain, 0), section) if plain.strip() else None
    if held is None or plain.startswith("null", held.value):
        return None
    own = _member(plain, held.value, name)
    return None if own is None else cast("Json", json.loads(plain[own.value : own.end]))


def _without_comments(text: str) -> str:
    """The text with spaces in place of its comments: all else stays where it is."""

    def blanked(found: re.Match[str]) -> str:
        is_comment = found[0].startswith("//") or found[1]
        return re.sub(r"[^\n]", " ", found[0]) if is_comment else found[0]

    return COMMENT.sub(blanked, text)


def _plain(text: str) -> str:
    """The text as plain JSON: with spaces in place of comments and trailing commas."""
    return LAST_COMMA.sub(lambda found: found[0] if found[0][0] == '"' else " ", _without_comments(text))


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no value of JSON")


def _behind_space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def _members(plain: str, start: int) -> Sequence[Member]:
    """The members of the object that begins there."""
    found: list[Member] = []
    at = _behind_space(plain, start + 1)
    while plain[at] != "}":
        name, end = DECODER.raw_decode(plain, at)
        value = _behind_space(plain, _behind_space(plain, end) + 1)
        _, end = DECODER.raw_decode(plain, value)
        found.append(Member(name, at, value, end))
        at = _behind_space(plain, end)
        at = _behind_space(plain, at + 1) if plain[at] == "," else at
    return found


def _member(plain: str, start: int, name: str) -> Member | None:
    """The member of this name. `Refused` if there are several, or it is in something that is no object."""
    if plain[start] != "{":
        raise Refused(f"there is no object that could hold {name!r}", "Correct the file", code="BAD_CONFIGURATION")
    found = [one for one in _members(plain, start) if one.name == name]
    if len(found) > 1:
        raise Refused(f"{name!r} is there {len(found)} times", "Correct the file", code="BAD_CONFIGURATION")
    return found[0] if found else None


def _added(text: str, start: int, name: str, value: Json) -> str:
    """Add a member at the beginning of the object, written as its others are."""
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
    """The white space at the beginning of the line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent(text: str) -> str:
    """The indent of the first member of the text."""
    found = re.search(r'\{\s*\n([ \t]+)"', _without_comments(text))
    return found[1] if found else "  "


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _written(text: str, margin: str, value: Json) -> str:
    """The value as the text writes one, below a line with this margin."""
    lines = json.dumps(value, ensure_ascii=False, indent=_indent(text)).split("\n")
    return f"{_line_end(text)}{margin}".join(lines)
