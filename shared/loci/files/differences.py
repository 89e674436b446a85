"""The differences between two versions of a file: cells of tables, rows that came and went, and paragraphs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from loci.files.locators import Locator, cell_range
from loci.files.reading import Reading, TableSection, TextSection

MOST_COMPARED = 5_000
"""Rows or paragraphs that are aligned with each other. More are compared one by one, as they stand."""
PARAGRAPHS = re.compile(r"\n[^\S\n]*\n")
Kind = Literal["changed", "added", "removed"]
Pair = tuple["Part | None", "Part | None"]


@dataclass(frozen=True, slots=True)
class Change:
    """One place that differs: a cell, a whole row, or a paragraph."""

    kind: Kind
    what: Literal["cell", "row", "paragraph"]
    where: Locator
    """In the newer version; of something removed, in the older one."""
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Part:
    """A row or a paragraph, as it is compared."""

    cells: tuple[str, ...]
    where: Locator
    row: int = 0
    column: int = 0
    last_row: int = 0
    """Not that of `row` for a header of several rows."""

    @property
    def text(self) -> str:
        return " | ".join(self.cells)


def changes(older: Reading, newer: Reading) -> Iterator[Change]:
    """Every place that differs: sheet by sheet, then tables without a sheet and the running text."""
    for sheet in dict.fromkeys([*older.sheets, *newer.sheets, *_sheets(older), *_sheets(newer)]):
        for before, after in _pairs(_rows(older, sheet), _rows(newer, sheet)):
            yield from _row_changes(sheet, before, after)
    for before, after in _pairs(_paragraphs(older), _paragraphs(newer)):
        kind, part = _kind(before, after)
        yield Change(kind, "paragraph", part.where, before and before.text, after and after.text)


def table_rows(table: TableSection) -> Iterator[Part]:
    """The rows of a table with their places: the cells of its title, its header, and those below."""
    for row, column, text in table.title_cells:
        yield Part((text,), Locator(sheet=table.sheet, cells=cell_range(row, row, column, column)), row, column, row)
    if table.header:
        yield _row(table, table.header, table.first_row, table.below_header - 1)
    for row, cells in enumerate(table.rows, table.below_header):
        yield _row(table, cells, row, row)


def _row(table: TableSection, cells: tuple[str, ...], first: int, last: int) -> Part:
    where = Locator(page=table.page, slide=table.slide)
    if table.sheet is not None:
        end = table.first_column + max(len(cells), 1) - 1
        where = Locator(sheet=table.sheet, cells=cell_range(first, last, table.first_column, end))
    return Part(cells, where, first, table.first_column, last)


def _row_changes(sheet: str, before: Part | None, after: Part | None) -> Iterator[Change]:
    if before is None or after is None:
        kind, part = _kind(before, after)
        if part.text.strip(" |"):
            yield Change(kind, "row", part.where, before and before.text, after and after.text)
        return
    first = min(before.column, after.column)
    last = max(before.column + len(before.cells), after.column + len(after.cells))
    for column in range(first, last):
        was, now = _cell(before, column), _cell(after, column)
        if was != now:
            where = Locator(sheet=sheet, cells=cell_range(after.row, after.row, column, column))
            kind: Kind = "added" if not was else "removed" if not now else "changed"
            yield Change(kind, "cell", where, was or None, now or None)


def _cell(row: Part, column: int) -> str:
    at = column - row.column
    return row.cells[at] if 0 <= at < len(row.cells) else ""


def _kind(before: Part | None, after: Part | None) -> tuple[Kind, Part]:
    if after is not None:
        return ("changed" if before else "added"), after
    assert before is not None  # noqa: S101 (one of them is there)
    return "removed", before


def _sheets(reading: Reading) -> list[str]:
    return [one.sheet for one in reading.tables if one.sheet is not None]


def _rows(reading: Reading, sheet: str) -> list[Part]:
    return [row for table in reading.tables if table.sheet == sheet for row in table_rows(table)]


def _paragraphs(reading: Reading) -> list[Part]:
    found: list[Part] = []
    heading: tuple[str, ...] = ()
    for section in reading.sections:
        if isinstance(section, TextSection):
            if section.heading != heading:  # a part too: what is below it belongs together
                heading = section.heading
                found.append(Part((" > ".join(heading),), _above(section)))
            found += _of_text(section)
        elif section.sheet is None:
            found += table_rows(section)
    return found


def _of_text(section: TextSection) -> Iterator[Part]:
    at = 0
    for end in [*(one.start() for one in PARAGRAPHS.finditer(section.text)), len(section.text)]:
        text = section.text[at:end]
        if text.strip():
            yield Part((" ".join(text.split()),), place_in(section, at + len(text) - len(text.lstrip()), end))
        at = end


def _above(section: TextSection) -> Locator:
    line = section.first_line - 1 if section.first_line is not None and section.first_line > 1 else None
    return Locator(page=section.page, slide=section.slide, lines=None if line is None else (line, line))


def place_in(section: TextSection, start: int, end: int) -> Locator:
    """The place of a part of a text section."""
    lines = None
    if section.first_line is not None:
        first = section.first_line + section.text.count("\n", 0, start)
        lines = (first, first + section.text[start:end].rstrip().count("\n"))
    return Locator(page=section.page, slide=section.slide, lines=lines)


def _pairs(older: Sequence[Part], newer: Sequence[Part]) -> Iterator[Pair]:
    """Pair the parts that replace each other. Equal parts are left out, and those that moved with their neighbours."""
    start = 0
    while start < min(len(older), len(newer)) and older[start].cells == newer[start].cells:
        start += 1
    older, newer = older[start:], newer[start:]
    cut = 0
    while cut < min(len(older), len(newer)) and older[-1 - cut].cells == newer[-1 - cut].cells:
        cut += 1
    older, newer = older[: len(older) - cut], newer[: len(newer) - cut]
    if max(len(older), len(newer)) > MOST_COMPARED:
        yield from (pair for pair in _side_by_side(older, newer) if _differs(pair))
        return
    matcher = SequenceMatcher(None, [one.cells for one in older], [one.cells for one in newer], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            yield from _side_by_side(older[a:b], newer[c:d])


def _side_by_side(older: Sequence[Part], newer: Sequence[Part]) -> Iterator[Pair]:
    for at in range(max(len(older), len(newer))):
        yield older[at] if at < len(older) else None, newer[at] if at < len(newer) else None


def _differs(pair: Pair) -> bool:
    before, after = pair
    return before is None or after is None or before.cells != after.cells
