"""Cuts the running text of a file into passages, each with the page, slide or lines where it stands."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from loci.files.locators import Box, Locator, Piece
from loci.files.reading import TextSection
from loci.search.passages import Block, Count, passages

BETWEEN = "\n\n"
"""Stands between paragraphs of one passage."""


def text_pieces(sections: Sequence[TextSection], count: Count, longest: int, most: int) -> Iterator[Piece]:
    """The passages of neighbouring paragraphs, which stand on one page or slide. Short paragraphs share a passage."""
    blocks: list[Block] = []
    shown = [one for one in sections if one.text.strip()]
    parts: list[str] = []
    start = 0
    for section in shown:
        parts.append(section.text.rstrip())
        blocks.append(Block(start + _above(section), start + len(parts[-1]), section.heading))
        start += len(parts[-1]) + len(BETWEEN)
    text = BETWEEN.join(parts)
    del parts
    starts = [block.start for block in blocks]
    lines = _Lines(text, starts, shown)
    for one in passages(text, blocks, count, longest, most):
        first = max(0, bisect_right(starts, one.start) - 1)
        last = max(first, bisect_right(starts, one.end - 1) - 1)
        within = shown[first : last + 1]
        begin, end = lines.of(first, one.start), lines.of(last, one.end)
        where = Locator(
            page=within[0].page,
            box=_around([section.box for section in within if section.box is not None]),
            slide=within[0].slide,
            lines=None if begin is None or end is None else (begin, end),
        )
        yield Piece(text[one.start : one.end], one.heading, where)


class _Lines:
    """Counts the lines of the sections up to one place after the other: it never counts the same ones twice."""

    def __init__(self, text: str, starts: Sequence[int], sections: Sequence[TextSection]) -> None:
        self._text = text
        self._starts = starts
        self._sections = sections
        self._section, self._place, self._line = -1, 0, 0

    def of(self, section: int, place: int) -> int | None:
        """The line of a character of this section, which is no earlier than the one before; None if it has none."""
        first = self._sections[section].first_line
        if first is None:
            return None
        if section != self._section:
            above = self._sections[section].text.count("\n", 0, _above(self._sections[section]))
            self._section, self._place, self._line = section, self._starts[section], first + above
        self._line += self._text.count("\n", self._place, place)
        self._place = max(self._place, place)
        return self._line


def _above(section: TextSection) -> int:
    """The number of characters above the text that shows."""
    return len(section.text) - len(section.text.lstrip())


def _around(boxes: Sequence[Box]) -> Box | None:
    if not boxes:
        return None
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)
