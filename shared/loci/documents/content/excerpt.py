"""A document, or the part of it that somebody needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loci.core.errors import NotFound, Refused
from loci.documents.document import Heading

SHOWN = 12


@dataclass(frozen=True, slots=True)
class ExcerptRequest:
    """What is wanted; None: no limit on that side. Lines count from 1, both ends included."""

    heading: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    most_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What was read."""

    text: str
    first_line: int
    last_line: int
    total_lines: int


def part_of(text: str, part: ExcerptRequest, count: Callable[[Sequence[str]], list[int]]) -> Excerpt:
    """The lines that are wanted; the text itself where all are."""
    lines = text.split("\n")
    total = len(lines) - (not lines[-1])
    if part == ExcerptRequest():
        return Excerpt(text, min(1, total), total, total)
    first, last = section(lines, part.heading) if part.heading else (1, total)
    first, last = max(first, part.first_line or 1), min(last, part.last_line or total)
    if part.first_line and part.last_line and part.first_line > part.last_line:
        raise Refused("The last line comes before the first", "Give start_line <= end_line", code="BAD_RANGE")
    if first > max(total, 1):
        raise Refused(f"There are only {total} lines", "Read from an earlier line", code="BAD_RANGE")
    if part.most_tokens is not None:
        last = _within(lines, first, last, part.most_tokens, count)
    return Excerpt("\n".join(lines[first - 1 : last]), first, last, total)


def section(lines: Sequence[str], wanted: str) -> tuple[int, int]:
    """The lines, counted from 1, from a heading to the next of its level, or a higher one."""
    from loci.documents.content.front_matter import read_front_matter  # 0.1 s, which a search does not pay
    from loci.documents.content.outline import outline_of_markdown

    headings = outline_of_markdown(lines, read_front_matter(lines).lines).headings
    at = _place(headings, wanted)
    level = headings[at].level
    behind = next((one.line for one in headings[at + 1 :] if one.level <= level), len(lines) + 1)
    return headings[at].line, behind - 1


def _place(headings: Sequence[Heading], wanted: str) -> int:
    """By the whole path, as `Errors > Codes`, or by its last part; the first of several."""
    path = [part.strip().casefold() for part in wanted.lstrip("# ").split(" > ")]
    above: list[Heading] = []
    for at, heading in enumerate(headings):
        above = [*(one for one in above if one.level < heading.level), heading]
        if [one.title.casefold() for one in above][-len(path) :] == path:
            return at
    known = ", ".join(repr(one.title) for one in headings[:SHOWN])
    raise NotFound(
        f"The document has no heading {wanted[:200]!r}",
        f"It has {known}" if known else "It has no headings: read it whole, or by lines",
        code="HEADING_NOT_FOUND",
    )


def _within(lines: Sequence[str], first: int, last: int, most: int, count: Callable[[Sequence[str]], list[int]]) -> int:
    """The last whole line that fits into so many tokens; the first always does."""
    spent = 0
    for number, tokens in enumerate(count(lines[first - 1 : last]), first):
        spent += tokens
        if spent > most and number > first:
            return number - 1
    return last
