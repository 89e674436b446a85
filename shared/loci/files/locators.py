"""Locators: where in its file a passage stands, as an answer shows it and as the index keeps it."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from loci.core.ids import content_id
from loci.search.ranking import Chunk
from loci.search.words import MARK

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, as parts of the page's width and height."""
CELLS = re.compile(r"[A-Z]{1,3}[1-9]\d{0,6}(:[A-Z]{1,3}[1-9]\d{0,6})?")


@dataclass(frozen=True, slots=True)
class Locator:
    """A page (with a box), a sheet (with cells), cells of a table of text, a slide, or lines of a text."""

    page: int | None = None
    box: Box | None = None
    sheet: str | None = None
    cells: str | None = None
    slide: int | None = None
    lines: tuple[int, int] | None = None
    rows: tuple[int, ...] | None = None
    """The rows of the sheet, counted from 0, that the last lines of the passage are. A header may be above them."""
    recognised: bool = False
    """True if the text was recognised in a picture, perhaps with mistakes."""

    @property
    def label(self) -> str:
        """The place as people say it: page 3, Costs!A5:F17, slide 4, lines 10-20."""
        if self.sheet is not None or self.cells is not None:
            return "!".join(one for one in (self.sheet, self.cells) if one is not None)
        if self.page is not None:
            return f"page {self.page}"
        if self.slide is not None:
            return f"slide {self.slide}"
        if self.lines is not None:
            first, last = self.lines
            return f"line {first}" if first == last else f"lines {first}-{last}"
        return "whole file"

    @property
    def fragment(self) -> str:
        """The place as the index keeps it, behind the name of the file: page=3&box=0.1,0.2,0.9,0.4."""
        parts: list[str] = []
        if self.page is not None:
            parts.append(f"page={self.page}")
        if self.box is not None:
            parts.append("box=" + ",".join(f"{one:.4g}" for one in self.box))
        if self.sheet is not None:
            parts.append(f"sheet={quote(self.sheet, safe='')}")
        if self.cells is not None:
            parts.append(f"cells={self.cells}")
        if self.slide is not None:
            parts.append(f"slide={self.slide}")
        if self.lines is not None:
            parts.append(f"lines={self.lines[0]}-{self.lines[1]}")
        if self.rows is not None:
            parts.append(f"rows={_runs(self.rows)}")
        if self.recognised:
            parts.append("recognised=1")
        return "&".join(parts)


@dataclass(frozen=True, slots=True)
class LocatedText:
    """A passage and its place."""

    text: str
    heading: tuple[str, ...]
    where: Locator


def place_of(chunk: Chunk) -> Locator:
    """The place of the passage in its file."""
    return locator_of(chunk.path.rpartition("#")[2])


def locator_of(fragment: str) -> Locator:
    """The locator that has this fragment. Raises `ValueError` if none has."""
    parts = dict(part.split("=", 1) for part in fragment.split("&") if part)
    cells = parts.get("cells")
    if cells is not None and not CELLS.fullmatch(cells):
        raise ValueError("no such cells")
    lines = parts.get("lines")
    return Locator(
        page=_number(parts.get("page")),
        box=_box(parts.get("box")),
        sheet=unquote(parts["sheet"]) if "sheet" in parts else None,
        cells=cells,
        slide=_number(parts.get("slide")),
        lines=None if lines is None else _span(lines),
        rows=_rows(parts["rows"]) if "rows" in parts else None,
        recognised="recognised" in parts,
    )


def cell_range(first_row: int, last_row: int, first_column: int, last_column: int) -> str:
    """Cells as spreadsheets name them, from numbers that count from 0."""
    first, last = f"{column_name(first_column)}{first_row + 1}", f"{column_name(last_column)}{last_row + 1}"
    return first if first == last else f"{first}:{last}"


def cells_in(cells: str) -> tuple[int, int, int, int]:
    """The first row, last row, first column and last column of cells, counted from 0."""
    first, _, last = cells.partition(":")
    (top, left), (bottom, right) = _cell(first), _cell(last or first)
    return top, bottom, left, right


def sheet_label(sheet: str) -> str:
    """The word in the index that all passages of sheets with this name have. No question has it."""
    return f"{MARK}{MARK}sheet_{content_id(sheet.strip().casefold(), length=20)}"


def column_name(number: int) -> str:
    """A for 0, Z for 25, AA for 26."""
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def _cell(name: str) -> tuple[int, int]:
    letters = name.rstrip("0123456789")
    column = 0
    for one in letters:
        column = column * 26 + ord(one) - ord("A") + 1
    return int(name[len(letters) :]) - 1, column - 1


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _span(text: str) -> tuple[int, int]:
    first, last = text.split("-")
    return int(first), int(last)


def _runs(rows: tuple[int, ...]) -> str:
    """The numbers, with neighbours together: 3-7,9-9."""
    runs: list[list[int]] = []
    for one in rows:
        if runs and runs[-1][1] == one - 1:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    return ",".join(f"{first}-{last}" for first, last in runs)


def _rows(text: str) -> tuple[int, ...]:
    return tuple(row for run in text.split(",") if run for row in range(_span(run)[0], _span(run)[1] + 1))


def _box(text: str | None) -> Box | None:
    if text is None:
        return None
    left, top, right, bottom = map(float, text.split(","))
    return left, top, right, bottom
