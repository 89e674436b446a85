"""A markdown file, or a plain text, as what it says: title, headings, tags, date, and blocks for passages."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from loci.documents.content.blocks import blocks
from loci.documents.content.dates import FIELDS, day_in
from loci.documents.content.front_matter import FrontMatter, read_front_matter
from loci.documents.content.links import mentions_in
from loci.documents.content.outline import LONGEST_TITLE, Outline, outline_of_markdown, outline_of_text
from loci.documents.content.tags import tags_of
from loci.documents.document import Heading, Problem
from loci.documents.link import WrittenLinks
from loci.search.passages import Block

PLAIN = frozenset((".txt", ".text"))
MOST_LINES = 500_000
"""More would take markdown-it minutes, and its tokens gigabytes."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a document says. Lines count from 1, those of the front matter, too."""

    text: str
    """With one kind of line end, and without what no index can hold."""
    lines: int
    title: str
    headings: tuple[Heading, ...]
    tags: tuple[str, ...]
    date: str | None
    front_matter: FrontMatter
    blocks: tuple[Block, ...]
    problems: tuple[Problem, ...]
    said: WrittenLinks


def parse(path: str, content: bytes) -> Parsed:
    """The document of that path. Whatever is wrong with it, it is kept, and `problems` say what that is."""
    text, problems = decoded(content)
    lines = text.split("\n")
    name = PurePosixPath(path)
    matter = read_front_matter(lines)
    if matter.problem:
        problems.append(matter.problem)
    is_plain = _is_plain(path, lines)
    if is_plain and name.suffix.lower() not in PLAIN:
        problems.append(Problem(f"It has more than {MOST_LINES:,} lines: it was read as plain text"))
    outline = outline_of(path, lines, matter.lines)
    headings = outline.headings
    given, first = matter.first("title"), headings[0].title if headings else ""
    tags = [value for field in ("tags", "tag", "keywords") for value in matter.fields.get(field, ())]
    return Parsed(
        text=text,
        lines=len(lines) - (not lines[-1]),
        title=(given or first or name.stem)[:LONGEST_TITLE],
        headings=headings,
        tags=tags_of(tags, _prose(lines, outline, matter.lines)),
        date=_date(matter, name.name, first),
        front_matter=matter,
        blocks=tuple(blocks(lines, outline, given[:LONGEST_TITLE] if given and given != first else None)),
        problems=tuple(problems),
        said=WrittenLinks(
            aliases=tuple(alias for field in ("aliases", "alias") for alias in matter.fields.get(field, ())),
            mentions=mentions_in(lines, outline, matter.lines, is_markdown=not is_plain),
        ),
    )


def outline_of(path: str, lines: Sequence[str], skip: int) -> Outline:
    """The headings and parts of the document of that path; the first `skip` lines are none of it."""
    return (outline_of_text if _is_plain(path, lines) else outline_of_markdown)(lines, skip)


def _is_plain(path: str, lines: Sequence[str]) -> bool:
    return PurePosixPath(path).suffix.lower() in PLAIN or len(lines) > MOST_LINES


def decoded(content: bytes) -> tuple[str, list[Problem]]:
    """The bytes as text, and what was wrong with them."""
    problems: list[Problem] = []
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problems.append(Problem("It is not all UTF-8: what is not was replaced", line))
        text = content.decode("utf-8-sig", "replace")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        problems.append(Problem("It holds NUL characters, which were replaced", line))
        text = text.replace("\0", "\ufffd")
    return text.replace("\r\n", "\n").replace("\r", "\n"), problems


def _prose(lines: Sequence[str], outline: Outline, skip: int) -> str:
    """The text without front matter and code."""
    kept = list(lines)
    for first, behind in outline.code:
        kept[first:behind] = [""] * (behind - first)
    return "\n".join(kept[skip:])


def _date(matter: FrontMatter, name: str, heading: str) -> str | None:
    given = (day_in(value) for field in FIELDS for value in matter.fields.get(field, ()))
    return next((day for day in (*given, day_in(name), day_in(heading)) if day), None)
