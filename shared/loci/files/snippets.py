"""The part of a passage that an answer shows, with exactly its place."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from loci.files.locators import Locator, cell_range, cells_in
from loci.search.ranking import Chunk
from loci.search.snippet import ELLIPSIS, cut_out, snippet, span
from loci.search.words import index_words

BETWEEN = " | "
"""Between the cells of a row."""
LONGEST_COLUMNS = 200
"""Characters of the header above rows of a table."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The words that are shown, and where they stand."""

    text: str
    where: Locator
    columns: str | None = None
    """The header of the table, if the text has only rows below it."""


def shown(chunk: Chunk, where: Locator, words: Collection[str], room: int) -> Shown:
    """At most `room` characters of the passage, where most of the words are."""
    rows = _rows(chunk.text, where)
    if rows is not None:
        return rows.shown(words, room)
    where = replace(where, rows=None)
    begin, end = span(chunk.text, words, room, centred=True)
    if where.lines is not None:
        first = where.lines[0] + chunk.text.count("\n", 0, begin)
        where = replace(where, lines=(first, first + chunk.text.count("\n", begin, end)))
    return Shown(cut_out(chunk.text, begin, end), where)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a sheet, one a line, with the numbers of those rows and the place of the first column."""

    header: str | None
    lines: Sequence[str]
    numbers: Sequence[tuple[int, int]]
    """The first and the last row of each line: only a header may have several."""
    where: Locator
    left: int
    right: int

    def shown(self, words: Collection[str], room: int) -> Shown:
        first, end = _best(self.lines, words, room)
        text = "\n".join(self.lines[first:end])
        left, right, header = self.left, self.right, self.header
        if len(text) > room:  # one row, and too long
            cells = text.split(BETWEEN)
            if len(cells) == right - left + 1:
                begin, stop = _best(cells, words, room - len(BETWEEN), between=len(BETWEEN))
                text = BETWEEN.join(cells[begin:stop])
                left, right = left + begin, left + stop - 1
                header = _columns(header, begin, stop, len(cells))
            text = snippet(text, words, room)
        if self.header is not None and first == 0 and self.lines[0] == self.header:
            header = None
        cells = cell_range(self.numbers[first][0], self.numbers[end - 1][1], left, right)
        return Shown(text, replace(self.where, cells=cells, rows=None), header and _cut(header))


def _rows(text: str, where: Locator) -> _Rows | None:
    """The rows of the passage; None if its lines are not rows."""
    if where.cells is None or where.rows is None:
        return None
    lines = text.split("\n")
    top, _, left, right = cells_in(where.cells)
    numbers = [(row, row) for row in where.rows]
    above = len(lines) - len(numbers)
    if above not in (0, 1) or not lines:
        return None
    header = lines[0] if above else None
    if numbers and top < numbers[0][0] and above:  # the header's rows are right above
        return _Rows(header, lines, [(top, numbers[0][0] - 1), *numbers], where, left, right)
    return _Rows(header, lines[above:], numbers, where, left, right) if numbers else None


def _best(lines: Sequence[str], words: Collection[str], room: int, between: int = 1) -> tuple[int, int]:
    """The first and the end of neighbours that fit and have most of the words; a word of few lines counts more."""
    having = [set(index_words(line)).intersection(words) for line in lines]
    counts = {word: sum(word in one for one in having) for word in words}
    weights = {word: math.log(1 + len(lines) / count) for word, count in counts.items() if count}
    best, score = (0, 1), -1.0
    for first in range(len(lines)):
        end, used = first, -between
        found: set[str] = set()
        while end < len(lines) and (end == first or used + between + len(lines[end]) <= room):
            used += between + len(lines[end])
            found |= having[end]
            end += 1
        value = sum(weights[word] for word in found)
        if value > score:
            best, score = (first, end), value
    return best


def _columns(header: str | None, begin: int, stop: int, count: int) -> str | None:
    names = (header or "").split(BETWEEN)
    return BETWEEN.join(names[begin:stop]) if len(names) == count else header


def _cut(header: str) -> str:
    return header if len(header) <= LONGEST_COLUMNS else header[: LONGEST_COLUMNS - 1] + ELLIPSIS
