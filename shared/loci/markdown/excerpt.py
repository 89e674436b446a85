"""A part of a document: a section, a range of lines, or as much as fits into an answer or a number of tokens."""

import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from loci.core.errors import NotFound, Refused
from loci.markdown.nouns import BOM, Heading

MOST_LISTED = 12
"""Headings that the error for an unknown heading lists."""
MOST_HEADINGS, LONGEST_HEADING = 60, 120
"""Headings of an outline, and characters of each."""
LONGEST_TOKEN = 8
"""Characters. Some tokenizers count a word of any length as one unknown token."""
Costs = Callable[[Sequence[str]], Iterable[int]]
"""Measures texts, one by one: their tokens, or their bytes."""


@dataclass(frozen=True, slots=True)
class ExcerptRequest:
    """The part to read. None: no limit on that side. Lines and columns count from 1, and `last_line` is included."""

    heading: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    most_tokens: int | None = None
    first_column: int | None = None
    """The first character to read of the first line."""
    room: int | None = None
    """The most bytes that the part may have as a string of JSON, without the quotation marks."""


@dataclass(frozen=True, slots=True)
class Position:
    """A character of a document."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part that was read, with its lines. Parts that follow each other give the document byte for byte."""

    text: str
    first_line: int
    last_line: int
    total_lines: int
    rest: Position | None = None
    """The beginning of the rest of the requested part; None if there is no rest."""
    rest_ends: int | None = None
    """The last line of the rest; None if it is the document's."""


def read_excerpt(text: str, request: ExcerptRequest, count: Costs, title: str = "") -> Excerpt:
    """The requested lines, as much of them as fits. It is cut at a line end if it can be. `count` counts tokens."""
    lines = list(io.StringIO(text, newline=""))  # it keeps the line ends
    total = len(lines)
    if request.first_line and request.last_line and request.first_line > request.last_line:
        raise Refused("The last line comes before the first", "Give start_line <= end_line", code="BAD_RANGE")
    is_ended = bool(request.heading or request.last_line)
    first, last = section_lines(_parsed(lines), request.heading, title) if request.heading else (1, total)
    first, last = max(first, request.first_line or 1), min(last, request.last_line or total)
    if first > max(total, 1):
        raise Refused(f"The document has only {total} lines", "Start at an earlier line", code="BAD_RANGE")
    wanted = lines[first - 1 : last]
    if not wanted:
        return Excerpt("", min(first, total), last, total)
    if is_ended:
        wanted[-1] = wanted[-1].rstrip("\r\n")
    column = request.first_column or 1
    if column > max(len(wanted[0]), 1):
        what = f"Line {first} has only {len(wanted[0])} characters"
        raise Refused(what, "Start at an earlier character", code="BAD_RANGE")
    wanted[0] = wanted[0][column - 1 :]
    read = wanted if request.room is None else _fitting(wanted, request.room, _bytes)
    read = read if request.most_tokens is None else _fitting(read, request.most_tokens, _at_least(count))
    rest, until = None, first + len(read) - 1
    if len(read[-1]) < len(wanted[len(read) - 1]):
        rest = Position(until, (column if until == first else 1) + len(read[-1]))
    elif len(read) < len(wanted):
        rest = Position(until + 1, 1)
    return Excerpt("".join(read), first, until, total, rest, last if is_ended else None)


def read_outline(text: str) -> Excerpt:
    """The headings with the lines of their sections, one a line. The deepest levels are left out if they are many."""
    lines = list(io.StringIO(text, newline=""))
    headings = _headings(_parsed(lines))
    deepest = max((one.level for one in headings), default=1)
    while deepest > 1 and sum(one.level <= deepest for one in headings) > MOST_HEADINGS:
        deepest -= 1
    shown = [
        f"{'#' * one.level} {one.title[:LONGEST_HEADING]} ({one.line}-{_section_end(headings, at, len(lines))})"
        for at, one in enumerate(headings)
        if one.level <= deepest
    ]
    left = [f"and {len(shown) - MOST_HEADINGS} more"] if len(shown) > MOST_HEADINGS else []
    return Excerpt("\n".join([*shown[:MOST_HEADINGS], *left]), min(1, len(lines)), len(lines), len(lines))


def _headings(lines: Sequence[str]) -> Sequence[Heading]:
    from loci.markdown.front_matter import read_front_matter  # 0.1 s, which a search does not pay
    from loci.markdown.outline import outline_of_markdown

    return outline_of_markdown(lines, read_front_matter(lines).lines).headings


def _section_end(headings: Sequence[Heading], at: int, total: int) -> int:
    """The last line of the section: it ends before the next heading of its level or above."""
    following = (one.line - 1 for one in headings[at + 1 :] if one.level <= headings[at].level)
    return next(following, total)


def _parsed(lines: Sequence[str]) -> list[str]:
    """The lines as the parser sees them."""
    bare = (line.removeprefix(BOM) if not number else line for number, line in enumerate(lines))
    return [line.rstrip("\r\n").replace("\0", "\ufffd") for line in bare]


def _at_least(count: Costs) -> Costs:
    def cost(texts: Sequence[str]) -> Iterable[int]:
        return (max(one, ceil(len(text) / LONGEST_TOKEN)) for one, text in zip(count(texts), texts, strict=True))

    return cost


def _bytes(lines: Sequence[str]) -> Iterable[int]:
    return (len(json.dumps(line, ensure_ascii=False).encode()) - 2 for line in lines)


def _fitting(lines: list[str], most: int, costs: Costs) -> list[str]:
    """The first lines that fit, with the beginning of a line that never fits, unless they fill half of the room."""
    left = most
    for number, cost in enumerate(costs(lines)):
        if cost > left:
            is_cut = cost > most and left * 2 >= most
            return [*lines[:number], *([_beginning(lines[number], left, costs)] if is_cut else [])]
        left -= cost
    return lines


def _beginning(line: str, most: int, costs: Costs) -> str:
    """The characters of the line that fit, but at least one."""
    low, high = 1, min(len(line), most * LONGEST_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        [cost] = costs([line[:middle]])
        low, high = (middle, high) if cost <= most else (low, middle - 1)
    return line[: low - 1] if low > 1 and line[low - 1 : low + 1] == "\r\n" else line[:low]


def section_lines(lines: Sequence[str], wanted: str, title: str = "") -> tuple[int, int]:
    """First and last line, counted from 1, of the section: it ends before the next heading of its level or above.

    Searches name the headings below the document's title: so may `wanted`, even if the title is not a heading.
    """
    headings = _headings(lines)
    path = _path(wanted)
    at = _heading_index(headings, path)
    if at is None and title and path[0] == _path(title)[0]:
        if len(path) == 1:
            return 1, len(lines)
        at = _heading_index(headings, path[1:])
    if at is None:
        raise _unknown(headings, wanted)
    return headings[at].line, _section_end(headings, at, len(lines))


def _path(wanted: str) -> list[str]:
    return [part.strip().casefold() for part in wanted.lstrip("# ").split(" > ")]


def _heading_index(headings: Sequence[Heading], path: list[str]) -> int | None:
    """The first heading that ends in the wanted path: `Codes` and `Errors > Codes` both find Codes below Errors."""
    above: list[Heading] = []
    for at, heading in enumerate(headings):
        above = [*(one for one in above if one.level < heading.level), heading]
        if [one.title.casefold() for one in above][-len(path) :] == path:
            return at
    return None


def _unknown(headings: Sequence[Heading], wanted: str) -> NotFound:
    known = ", ".join(repr(one.title) for one in headings[:MOST_LISTED])
    return NotFound(
        f"The document has no heading {wanted[:200]!r}",
        f"Its headings are {known}" if known else "It has no headings: read all of it, or read it by lines",
        code="HEADING_NOT_FOUND",
    )
