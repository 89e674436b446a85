"""The text of a file as an agent reads it: piece by piece, each with its place, under the titles of the file."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from loci.core.errors import NotFound
from loci.files.cutting import label_above, table_place
from loci.files.locators import column_name
from loci.files.reading import TABLES, Reading, TableSection, TextSection, decoded, headings_in

PARAGRAPH, LINE = "\n\n", "\n"
"""The text between a piece and the one before it."""
MOST_LISTED = 12
MOST_COMPARED = 2_000
"""Titles among which an error looks for a similar one."""
NO_TITLE: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Title:
    """A heading of a file, and where it stands."""

    path: tuple[str, ...]
    """The heading with the headings above it."""
    page: int | None = None
    line: int | None = None

    @property
    def is_listing(self) -> bool:
        """True for a line of a table of contents, which a parser takes for a heading."""
        return ". . ." in self.path[-1] or "....." in self.path[-1]

    @property
    def place(self) -> str:
        """The place in words, such as page 3."""
        return f"page {self.page}" if self.page else f"line {self.line}" if self.line else ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A line, a paragraph or a row of a table."""

    text: str
    between: str = LINE
    title: int = -1
    """The number of the title that it is below."""
    page: int | None = None
    """The page or the slide."""
    line: int | None = None
    table: TableSection | None = None
    row: int = -1
    """The number of the row in its table; -1 for a table without rows."""
    recognised: bool = False
    """True if the text was recognised in a picture."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of a sheet, from the first row and column to the last ones, counted from 0. None: to the end."""

    top: int = 0
    bottom: int | None = None
    left: int = 0
    right: int | None = None

    def has_row(self, row: int) -> bool:
        """True if the row is among the cells."""
        return self.top <= row and (self.bottom is None or row <= self.bottom)

    def has_column(self, column: int) -> bool:
        """True if the column is among the cells."""
        return self.left <= column and (self.right is None or column <= self.right)


ALL_CELLS = Cells()


class ReadableFile(ABC):
    """The text of a version of a file."""

    def __init__(self, name: str, titles: Sequence[Title]) -> None:
        self.name = name
        self.titles = titles
        self.tables: Sequence[TableSection] = ()
        self.sheets: Sequence[str] = ()
        self.is_table = False
        """True for a table of text, which has cells and no sheet."""
        self.pages: int | None = None
        """The number of pages or slides."""
        self.page_word = "page"

    @abstractmethod
    def pieces(self, cells: Cells = ALL_CELLS) -> Iterator[Piece]:
        """All pieces in the order of the file. Tables show the columns of the cells."""
        ...

    def title_named(self, wanted: str) -> tuple[int, int]:
        """The number of the first title with this name, and how many have it.

        The name may have the titles above it: `Errors > Codes`. A part of a title will do if nothing else fits.
        """
        names = [" > ".join(map(_plain, one.path)) for one in self.titles]
        asked = " > ".join(map(_plain, wanted.split(" > ")))
        own = [at for at, one in enumerate(self.titles) if not one.is_listing]
        fits = (
            [at for at in own if names[at] == asked or names[at].endswith(f" > {asked}")],
            [at for at in own if asked in _plain(self.titles[at].path[-1])],
        )
        for found in fits:
            if asked and found:
                return found[0], len(found)
        raise self.no_part(f"no section {wanted[:100]!r}", "sections", wanted)

    def no_part(self, what: str, kind: str = "", near: str = "") -> NotFound:
        """The error of a call for a part that the file lacks: it says which parts of that kind there are.

        The kinds are pages, sheets and sections. If there is none of its kind, the error names the others.
        """
        names = [one.path[-1] for one in self.titles[:MOST_COMPARED] if not one.is_listing]
        close = get_close_matches(near[:100], names, n=3) if near else []
        shown = [*dict.fromkeys([*close, *names])][:MOST_LISTED]
        rest = len({*names}) - len(shown)
        sections = ", ".join(map(repr, shown)) + (f" and {rest} more" if rest > 0 else "")
        there = {
            "pages": f"Its {self.page_word}s are 1-{self.pages}" if self.pages else "",
            "sheets": f"Its sheets are {', '.join(map(repr, self.sheets[:MOST_LISTED]))}" if self.sheets else "",
            "sections": f"Its sections are {sections}" if shown else "",
        }
        known = there.get(kind) or ". ".join(filter(None, there.values()))
        advice = known or "Leave out page, cells, lines and section to read all of it"
        return NotFound(f"{self.name} has {what}", advice, code="PART_NOT_FOUND")


class PlainText(ReadableFile):
    """The text of a plain text or of markdown: line by line as it was added."""

    def __init__(self, name: str, content: bytes, *, is_markdown: bool) -> None:
        self._text = decoded(content)
        headings = headings_in(self._text) if is_markdown else ()
        super().__init__(name, [Title(one.path, line=one.line) for one in headings])

    def pieces(self, cells: Cells = ALL_CELLS) -> Iterator[Piece]:  # noqa: ARG002 (it has no tables)
        starts = [one.line or 0 for one in self.titles]
        at, number, end = 0, 1, len(self._text.rstrip())
        while at < end:
            stop = self._text.find("\n", at)
            stop = len(self._text) if stop < 0 else stop
            yield Piece(self._text[at:stop], title=bisect_right(starts, number) - 1, line=number)
            at, number = stop + 1, number + 1


class ReadText(ReadableFile):
    """The text of a file that a parser read: paragraphs below their headings, and tables."""

    def __init__(self, name: str, reading: Reading) -> None:
        self._sections = reading.sections
        self._begin: dict[int, list[int]] = {}
        """The numbers of the titles that begin with a section."""
        self._below: dict[int, int] = {}
        """The number of the title that a section of text is below."""
        super().__init__(name, [*self._titles()])
        self.tables = reading.tables
        own_sheets = dict.fromkeys(one.sheet for one in reading.tables if one.sheet)
        self.sheets = reading.sheets or tuple(own_sheets)
        self.is_table = reading.format in TABLES.values()
        self.pages = reading.pages
        self.page_word = "slide" if reading.format == "pptx" else "page"

    def _titles(self) -> Iterator[Title]:
        path: tuple[str, ...] = ()
        known: dict[tuple[str, ...], int] = {}
        number = 0
        texts = [(at, one) for at, one in enumerate(self._sections) if isinstance(one, TextSection)]
        for (at, section), (_, after) in pairwise([*texts, (-1, TextSection(text=""))]):
            new = section.heading
            if after.heading[: len(new) + 1] == (*new, section.text):  # only headings stand below this one
                new = after.heading[: len(new) + 1]
            same = next((level for level, (a, b) in enumerate(zip(path, new, strict=False)) if a != b), len(path))
            if section.heading and section.text.strip() == section.heading[-1]:  # the heading itself
                same = min(same, len(new) - 1)
            for level in range(same, len(new)):
                self._begin.setdefault(at, []).append(number)
                known[new[: level + 1]] = number
                yield Title(new[: level + 1], section.page or section.slide, section.first_line)
                number += 1
            self._below[at] = known.get(new, -1)
            path = new

    def pieces(self, cells: Cells = ALL_CELLS) -> Iterator[Piece]:
        title, line = -1, None
        for at, section in enumerate(self._sections):
            page = section.page or section.slide
            if isinstance(section, TableSection):
                yield from _rows(section, cells, title, page, line)
                continue
            title, line = self._below[at], section.first_line
            begun = self._begin.get(at, ())
            for one in begun:
                path = self.titles[one].path
                yield Piece(f"{'#' * min(len(path), 6)} {path[-1]}", PARAGRAPH, one, page, line)
            if begun and section.text.strip() == self.titles[title].path[-1]:
                continue
            for number, text in enumerate(section.text.rstrip().split("\n")):
                line = None if section.first_line is None else section.first_line + number
                yield Piece(text, LINE if number else PARAGRAPH, title, page, line, recognised=section.recognised)


def _rows(table: TableSection, cells: Cells, title: int, page: int | None, line: int | None) -> Iterator[Piece]:
    shown = columns_of(table, cells)
    kept = [row for row in range(len(table.rows)) if any(table.rows[row])]
    for row in kept:
        number = [str(table.below_header + row + 1)] if table.has_cells else []
        text = table_line([*number, *(_cell(table.rows[row], one) for one in shown)])
        part = table.part(row)
        yield Piece(text, LINE, title, part.page if part else page, line, table, row)
    if not kept:
        yield Piece("", "", title, page, line, table)


def columns_of(table: TableSection, cells: Cells) -> list[int]:
    """The columns of the table that have something and are among the cells, and the first one: it names the rows."""
    width = max(len(table.header), max(map(len, table.rows), default=0))
    filled = [at for at in range(width) if _cell(table.header, at) or any(_cell(row, at) for row in table.rows)]
    return [at for at in filled if at == filled[0] or cells.has_column(table.first_column + at)]


def table_head(table: TableSection, cells: Cells, row: int) -> str:
    """The lines above the rows from this one on: the place and the title of the table, its header, and its group."""
    shown = columns_of(table, cells)
    letters = [f"{column_name(table.first_column + one)} " if table.has_cells else "" for one in shown]
    names = [f"{letter}{_cell(table.header, one)}".strip() for letter, one in zip(letters, shown, strict=True)]
    where = table_place(table).label if table.has_cells else "Table"
    group = label_above(table, row) if row > 0 else ""
    lines = [f"[{where}{': ' if table.title else ''}{table.title}]", f"({group})" if group else ""]
    if any(table.header) or len(shown) > 1:
        first = ["row"] if table.has_cells else []
        lines += [table_line([*first, *names]), "|".join(["---"] * (len(first) + len(names)))]
    return LINE.join(filter(None, lines))


def table_line(cells: Sequence[str]) -> str:
    """The cells in one line, each whole."""
    return " | ".join(" ".join(one.split()) for one in cells)


def _cell(row: Sequence[str], at: int) -> str:
    return row[at] if at < len(row) else ""


def _plain(name: str) -> str:
    """The name without marks and numbers before it, as names are compared."""
    name = " ".join(name.lstrip("# ").rstrip(": ").casefold().split())
    return name.lstrip("0123456789. ") or name
