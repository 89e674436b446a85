"""Cuts the running text of a file into passages, each with the page, slide or lines where it stands."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from loci.files.locators import Box, Locator, Piece
from loci.files.reading import TextSection
from loci.search.passages import Block, Count, passages

BETWEEN = "\n\n"
"""Stands between paragraphs of one passage."""


def text_pieces(sections: Sequence[TextSection], count: Count, longest: int) -> Iterator[Piece]:
    """The passages of neighbouring paragraphs, which stand on one page or slide. Short paragraphs share a passage."""
    blocks: list[Block] = []
    shown = [one for one in sections if one.text.strip()]
    text = ""
    for section in shown:
        text += BETWEEN if text else ""
        start = len(text)
        text += section.text.rstrip()
        blocks.append(Block(start + len(section.text) - len(section.text.lstrip()), len(text), section.heading))
    starts = [block.start for block in blocks]
    for one in passages(text, blocks, count, longest):
        first = max(0, bisect_right(starts, one.start) - 1)
        last = max(first, bisect_right(starts, one.end - 1) - 1)
        within = shown[first : last + 1]
        where = Locator(
            page=within[0].page,
            box=_around([section.box for section in within if section.box is not None]),
            slide=within[0].slide,
            lines=_lines(text, blocks, (first, one.start), (last, one.end), shown),
        )
        yield Piece(text[one.start : one.end], one.heading, where)


def _lines(
    text: str, blocks: Sequence[Block], begin: tuple[int, int], end: tuple[int, int], sections: Sequence[TextSection]
) -> tuple[int, int] | None:
    """The lines from the character at which a passage begins to the one at which it ends, each in its paragraph."""
    first, last = (_line(text, blocks[at].start, place, sections[at]) for at, place in (begin, end))
    return None if first is None or last is None else (first, last)


def _line(text: str, start: int, place: int, section: TextSection) -> int | None:
    if section.first_line is None:
        return None
    above = section.text[: len(section.text) - len(section.text.lstrip())]
    return section.first_line + above.count("\n") + text.count("\n", start, place)


def _around(boxes: Sequence[Box]) -> Box | None:
    if not boxes:
        return None
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)
