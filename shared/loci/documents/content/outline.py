"""The headings and the parts of a text, in order, with their lines."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from markdown_it import MarkdownIt

from loci.documents.document import Heading

LONGEST_TITLE = 200
CODE = frozenset(("fence", "code_block"))
BY_LINES = CODE | {"html_block"}
# The line below a table's head.
RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
LISTS = frozenset(("bullet_list_open", "ordered_list_open"))
LINK = re.compile(r"!?\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]|!?\[([^\]]*)\]\([^)]*\)")
EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")


@dataclass(frozen=True, slots=True)
class OutlinePart:
    """Lines that belong together. They count from 0, and `behind` is the first that is none of them."""

    first: int
    behind: int
    kind: Literal["paragraph", "item", "lines"]
    """A list is many items; a table, code and HTML are what their lines are."""


@dataclass(frozen=True, slots=True)
class Outline:
    """All of a text but its front matter and blank lines."""

    parts: tuple[Heading | OutlinePart, ...]
    code: tuple[tuple[int, int], ...] = ()
    """Where code is, in a list or a quotation, too: first lines, and those behind the last."""

    @property
    def headings(self) -> tuple[Heading, ...]:
        return tuple(one for one in self.parts if isinstance(one, Heading))


def outline_of_markdown(lines: Sequence[str], skip: int) -> Outline:
    """What markdown says they are; the first `skip` lines are none of it."""
    parts: list[Heading | OutlinePart] = []
    code: list[tuple[int, int]] = []
    inside = ""
    level = 0
    for token in _markdown().parse("\n".join([""] * skip + list(lines[skip:]))):
        if token.type in CODE and token.map:
            code.append((token.map[0], token.map[1]))
        if token.level == 0:
            inside = token.type
            level = int(token.tag[1:]) if inside == "heading_open" else 0
            if token.map and not level and inside not in LISTS:
                part = OutlinePart(
                    token.map[0], _behind(lines, token.map), "lines" if inside in BY_LINES else "paragraph"
                )
                parts += _without_table(lines, part) if inside == "paragraph_open" else [part]
        elif level and token.type == "inline" and token.map:
            parts.append(Heading(level, _plain(token.content), token.map[0] + 1))
        elif inside in LISTS and token.level == 1 and token.type == "list_item_open" and token.map:
            parts.append(OutlinePart(token.map[0], _behind(lines, token.map), "item"))
    return Outline(tuple(parts), tuple(code))


def outline_of_text(lines: Sequence[str], skip: int) -> Outline:
    """Paragraphs, between blank lines."""
    return Outline(tuple(_paragraphs(lines, skip)))


@cache
def _markdown() -> MarkdownIt:
    # What is inside a block is read elsewhere: all of it takes ten times as long. A link's definition stays text.
    return MarkdownIt("commonmark").disable(["inline", "reference"])


def _without_table(lines: Sequence[str], part: OutlinePart) -> list[OutlinePart]:
    """A paragraph, or the table that it is, or both: markdown-it's tables take longer than all the rest."""
    for at in range(part.first + 1, part.behind):
        if "|" in lines[at] and RULE.fullmatch(lines[at]):
            table = OutlinePart(at - 1, part.behind, "lines")
            return [table] if at - 1 == part.first else [OutlinePart(part.first, at - 1, "paragraph"), table]
    return [part]


def _paragraphs(lines: Sequence[str], skip: int) -> Iterator[OutlinePart]:
    first: int | None = None
    for at in range(skip, len(lines) + 1):
        is_text = at < len(lines) and not lines[at].isspace() and bool(lines[at])
        if is_text and first is None:
            first = at
        elif not is_text and first is not None:
            yield OutlinePart(first, at, "paragraph")
            first = None


def _behind(lines: Sequence[str], span: Sequence[int]) -> int:
    """Where the part ends, without the blank lines that markdown counts as a list item's."""
    first, behind = span
    while behind > first + 1 and not lines[behind - 1].strip():
        behind -= 1
    return behind


def _plain(heading: str) -> str:
    """A heading without its markup."""
    text = LINK.sub(lambda link: link[1] or link[2] or "", heading) if "[" in heading else heading
    return " ".join(EMPHASIS.sub("", text).split())[:LONGEST_TITLE]
