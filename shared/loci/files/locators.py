"""Locators: where in its file a passage stands, as an answer shows it and as the index keeps it."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, as parts of the page's width and height."""
CELLS = re.compile(r"[A-Z]{1,3}[1-9]\d{0,6}(:[A-Z]{1,3}[1-9]\d{0,6})?")


@dataclass(frozen=True, slots=True)
class Locator:
    """A page (with a box), a sheet (with cells), a slide, or lines of a text."""

    page: int | None = None
    box: Box | None = None
    sheet: str | None = None
    cells: str | None = None
    slide: int | None = None
    lines: tuple[int, int] | None = None

    @property
    def label(self) -> str:
        """As people say it: page 3, Costs!A5:F17, slide 4, lines 10-20."""
        if self.sheet is not None:
            return f"{self.sheet}!{self.cells}" if self.cells else self.sheet
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
        """As the index keeps it, behind the name of the file: page=3&box=0.1,0.2,0.9,0.4."""
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
        return "&".join(parts)


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage and its place."""

    text: str
    heading: tuple[str, ...]
    where: Locator


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
    )


def cell_range(first_row: int, last_row: int, first_column: int, last_column: int) -> str:
    """Cells as spreadsheets name them, from numbers that count from 0."""
    first, last = f"{column_name(first_column)}{first_row + 1}", f"{column_name(last_column)}{last_row + 1}"
    return first if first == last else f"{first}:{last}"


def column_name(number: int) -> str:
    """A for 0, Z for 25, AA for 26."""
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _span(text: str) -> tuple[int, int]:
    first, last = text.split("-")
    return int(first), int(last)


def _box(text: str | None) -> Box | None:
    if text is None:
        return None
    left, top, right, bottom = map(float, text.split(","))
    return left, top, right, bottom
