"""A part of a document: a section, a range of lines, or as many lines as fit into a number of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loci.core.errors import NotFound, Refused
from loci.documents.document import Heading

MOST_LISTED = 12
"""Headings that the error for an unknown heading lists."""


@dataclass(frozen=True, slots=True)
class ExcerptRequest:
    """The part to read. None: no limit on that side. Lines count from 1, and `last_line` is included."""

    heading: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    most_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part that was read, with its lines."""

    text: str
    first_line: int
    last_line: int
    total_lines: int


def read_excerpt(
    text: str, request: ExcerptRequest, count: Callable[[Sequence[str]], list[int]], title: str = ""
) -> Excerpt:
    """The requested lines, or the unchanged text if the request has no limits. `count` counts the tokens of texts."""
    lines = text.split("\n")
    total = len(lines) - (not lines[-1])
    if request == ExcerptRequest():
        return Excerpt(text, min(1, total), total, total)
    first, last = section_lines(lines, request.heading, title) if request.heading else (1, total)
    first, last = max(first, request.first_line or 1), min(last, request.last_line or total)
    if request.first_line and request.last_line and request.first_line > request.last_line:
        raise Refused("The last line comes before the first", "Give start_line <= end_line", code="BAD_RANGE")
    if first > max(total, 1):
        raise Refused(f"The document has only {total} lines", "Start at an earlier line", code="BAD_RANGE")
    if request.most_tokens is not None:
        last = _last_that_fits(lines, first, last, request.most_tokens, count)
    return Excerpt("\n".join(lines[first - 1 : last]), first, last, total)


def section_lines(lines: Sequence[str], wanted: str, title: str = "") -> tuple[int, int]:
    """First and last line, counted from 1, of the section: it ends before the next heading of its level or above.

    Searches name the headings below the document's title: so may `wanted`, even if the title is not a heading.
    """
    from loci.documents.content.front_matter import read_front_matter  # 0.1 s, which a search does not pay
    from loci.documents.content.outline import outline_of_markdown

    headings = outline_of_markdown(lines, read_front_matter(lines).lines).headings
    path = _path(wanted)
    at = _heading_index(headings, path)
    if at is None and title and path[0] == _path(title)[0]:
        if len(path) == 1:
            return 1, len(lines)
        at = _heading_index(headings, path[1:])
    if at is None:
        raise _unknown(headings, wanted)
    level = headings[at].level
    end = next((one.line for one in headings[at + 1 :] if one.level <= level), len(lines) + 1)
    return headings[at].line, end - 1


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


def _last_that_fits(
    lines: Sequence[str], first: int, last: int, most: int, count: Callable[[Sequence[str]], list[int]]
) -> int:
    """The last line that still fits into `most` tokens. The first line counts as fitting, however long it is."""
    spent = 0
    for number, tokens in enumerate(count(lines[first - 1 : last]), first):
        spent += tokens
        if spent > most and number > first:
            return number - 1
    return last
