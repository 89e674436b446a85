"""The differences between two versions of a file: cells of tables, rows that came and went, and paragraphs."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Literal

from loci.files.locators import Locator, cell_range
from loci.files.reading import Reading, TableSection, TextSection

PARAGRAPHS = re.compile(r"\n[^\S\n]*\n")
Kind = Literal["changed", "added", "removed"]
Pair = tuple["ComparedPart | None", "ComparedPart | None"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A place that differs: a cell, a whole row, or a paragraph."""

    kind: Kind
    what: Literal["cell", "row", "paragraph"]
    where: Locator
    """The place in the newer version; of a removed part, the place in the older one."""
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ComparedPart:
    """A row or a paragraph, as it is compared."""

    cells: tuple[str, ...]
    where: Locator
    row: int = 0
    column: int = 0
    last_row: int = 0
    """The row of the cell, which is not `row` in a header of several rows."""

    @property
    def text(self) -> str:
        return " | ".join(self.cells)


def changes(older: Reading, newer: Reading) -> Iterator[FileChange]:
    """All places that differ: sheet by sheet, then tables without a sheet and the running text."""
    for sheet in dict.fromkeys([*older.sheets, *newer.sheets, *_sheets(older), *_sheets(newer)]):
        for before, after in _pairs(_rows(older, sheet), _rows(newer, sheet)):
            yield from _row_changes(sheet, before, after)
    for before, after in _pairs(_paragraphs(older), _paragraphs(newer)):
        kind, part = _kind(before, after)
        yield FileChange(kind, "paragraph", part.where, before and before.text, after and after.text)


def table_rows(table: TableSection) -> Iterator[ComparedPart]:
    """The rows of a table with their places: the cells of its title, its header, and those below."""
    for row, column, text in table.title_cells:
        yield ComparedPart(
            (text,), Locator(sheet=table.sheet or None, cells=cell_range(row, row, column, column)), row, column, row
        )
    if table.header:
        yield _row(table, table.header, table.first_row, table.below_header - 1)
    for row, cells in enumerate(table.rows, table.below_header):
        yield _row(table, cells, row, row)


def _row(table: TableSection, cells: tuple[str, ...], first: int, last: int) -> ComparedPart:
    """A line of a table; a header may be in several rows of the sheet."""
    part = table.part(first - table.below_header)
    where = Locator(page=part.page if part else table.page, slide=table.slide)
    if table.has_cells:
        end = table.first_column + max(len(cells), 1) - 1
        where = Locator(sheet=table.sheet or None, cells=cell_range(first, last, table.first_column, end))
    return ComparedPart(cells, where, first, table.first_column, last)


def _row_changes(sheet: str, before: ComparedPart | None, after: ComparedPart | None) -> Iterator[FileChange]:
    if before is None or after is None:
        kind, part = _kind(before, after)
        if part.text.strip(" |"):
            yield FileChange(kind, "row", part.where, before and before.text, after and after.text)
        return
    first = min(before.column, after.column)
    last = max(before.column + len(before.cells), after.column + len(after.cells))
    for column in range(first, last):
        was, now = _cell(before, column), _cell(after, column)
        if was != now:
            where = Locator(sheet=sheet or None, cells=cell_range(after.row, after.row, column, column))
            kind: Kind = "added" if not was else "removed" if not now else "changed"
            yield FileChange(kind, "cell", where, was or None, now or None)


def _cell(row: ComparedPart, column: int) -> str:
    at = column - row.column
    return row.cells[at] if 0 <= at < len(row.cells) else ""


def _kind(before: ComparedPart | None, after: ComparedPart | None) -> tuple[Kind, ComparedPart]:
    if after is not None:
        return ("changed" if before else "added"), after
    assert before is not None  # noqa: S101 (one of them is there)
    return "removed", before


def _sheets(reading: Reading) -> list[str]:
    return [one.sheet for one in reading.tables if one.sheet is not None]


def _rows(reading: Reading, sheet: str) -> list[ComparedPart]:
    return [row for table in reading.tables if table.sheet == sheet for row in table_rows(table)]


def _paragraphs(reading: Reading) -> list[ComparedPart]:
    found: list[ComparedPart] = []
    heading: tuple[str, ...] = ()
    for section in reading.sections:
        if isinstance(section, TextSection):
            if section.heading != heading:  # a part too: what is below it belongs together
                heading = section.heading
                found.append(ComparedPart((" > ".join(heading),), _above(section)))
            found += _of_text(section)
        elif not section.has_cells:
            found += table_rows(section)
    return found


def _of_text(section: TextSection) -> Iterator[ComparedPart]:
    at, places = 0, TextPlaces(section)
    for end in [*(one.start() for one in PARAGRAPHS.finditer(section.text)), len(section.text)]:
        text = section.text[at:end]
        if text.strip():
            yield ComparedPart((" ".join(text.split()),), places.between(at + len(text) - len(text.lstrip()), end))
        at = end


def _above(section: TextSection) -> Locator:
    line = section.first_line - 1 if section.first_line is not None and section.first_line > 1 else None
    return Locator(page=section.page, slide=section.slide, lines=None if line is None else (line, line))


class TextPlaces:
    """Tells the places of parts of a text, one after the other: it never counts the same lines twice."""

    def __init__(self, section: TextSection) -> None:
        self._section = section
        self._at = 0
        self._line = section.first_line

    def between(self, start: int, end: int) -> Locator:
        """The place of a part that begins no earlier than the one before."""
        section, lines = self._section, None
        if self._line is not None:
            self._line += section.text.count("\n", self._at, start)
            self._at = start
            lines = (self._line, self._line + section.text[start:end].rstrip().count("\n"))
        return Locator(page=section.page, slide=section.slide, lines=lines)


def _pairs(older: Sequence[ComparedPart], newer: Sequence[ComparedPart]) -> Iterator[Pair]:
    """Pair the parts that replace each other. Equal parts, and parts that moved with their neighbours, are left out."""
    ends = [(-1, -1), *_anchors(older, newer), (len(older), len(newer))]
    for (a, b), (c, d) in pairwise(ends):
        for before, after in zip_longest(*_without_equal_ends(older[a + 1 : c], newer[b + 1 : d])):
            if before is None or after is None or before.cells != after.cells:
                yield before, after


def _without_equal_ends(
    older: Sequence[ComparedPart], newer: Sequence[ComparedPart]
) -> tuple[Sequence[ComparedPart], Sequence[ComparedPart]]:
    start = 0
    while start < min(len(older), len(newer)) and older[start].cells == newer[start].cells:
        start += 1
    older, newer = older[start:], newer[start:]
    cut = 0
    while cut < min(len(older), len(newer)) and older[-1 - cut].cells == newer[-1 - cut].cells:
        cut += 1
    return older[: len(older) - cut], newer[: len(newer) - cut]


def _anchors(older: Sequence[ComparedPart], newer: Sequence[ComparedPart]) -> list[tuple[int, int]]:
    """The most parts that both have once and in the same order: those between them are compared on their own."""
    before, after = (Counter(one.cells for one in parts) for parts in (older, newer))
    places = {one.cells: at for at, one in enumerate(newer) if before[one.cells] == after[one.cells] == 1}
    matches = [(at, places[one.cells]) for at, one in enumerate(older) if one.cells in places]
    ends: list[int] = []  # for each length, the lowest end of a rising run
    last: list[int] = []
    above: list[int] = []
    for number, (_, place) in enumerate(matches):
        length = bisect_left(ends, place)
        above.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
    found: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        found.append(matches[at])
        at = above[at]
    return found[::-1]
