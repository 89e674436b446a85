"""A part of a file's text, within a number of tokens: pages, lines, cells or a section; or its outline and beginning.

For a large file another process reads it, as for `cutting`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from loci.core.errors import Refused
from loci.files.cutting import table_place
from loci.files.file_text import ALL_CELLS, PARAGRAPH, Cells, Piece, PlainText, ReadableFile, ReadText, table_head
from loci.files.lake import unpacked
from loci.files.locators import cell_range, cells_in
from loci.files.reading import TableSection
from loci.search.inference import tokens_at_most

SPAN = re.compile(
    r"(?P<word>pages?|slides?|lines?)? ?(?P<first>\d{1,9})(?P<on> ?[-–] ?(?P<last>\d{1,9})?)?",  # noqa: RUF001
    re.IGNORECASE,
)
CELLS = re.compile(r"(?P<left>[A-Z]{0,3})(?P<top>\d{0,7})(?P<to>:(?P<right>[A-Z]{0,3})(?P<bottom>\d{0,7}))?")
WHOLE = "whole file"
SHEET_OF_BEFORE = "sheet1"
"""Citations of before name this sheet for a table of text, which has none."""
TO_THE_END = 1_000_000_000
OUTLINE_SHARE = 3
"""An outline gets at most this part of the answer."""
LONGEST_COLUMNS = 120
RECOGNISED = "Recognised in a picture, perhaps with mistakes."
TOKENS_OF_A_CUT = 20
"""A piece that does not fit is cut only if there is room for more than these."""


@dataclass(frozen=True, slots=True)
class AskedPart:
    """The part that is asked for. Without any place it is the beginning."""

    pages: tuple[int, int] | None = None
    lines: tuple[int, int] | None = None
    sheet: str | None = None
    cells: Cells | None = None
    section: str | None = None
    offset: int = 0
    """Characters of the part that the caller has read already."""
    tokens: int = 1_500


@dataclass(frozen=True, slots=True)
class NextPart:
    """The arguments that read what comes after a part."""

    what: str
    arguments: Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part that was read."""

    label: str
    text: str
    heading: tuple[str, ...] = ()
    """The titles that its beginning is below."""
    outline: str = ""
    next: NextPart | None = None
    remark: str | None = None


def asked_part(given: Mapping[str, str | None], offset: int, tokens: int) -> AskedPart:
    """The part that `page`, `cells`, `lines` or `section` names: each also takes the label of a locator.

    With `cells`, the section is their sheet.
    """
    places = {name: text.strip() for name, text in given.items() if text and text.strip()}
    sheet, cells = places.get("section", ""), places.get("cells", "")
    if sheet and cells and sheet != cells and "!" not in cells:
        places["cells"] = places["section"] = f"{sheet}!{cells}"
    parts = {_part(name, text) for name, text in places.items()}
    if len(parts) > 1:
        what = f"{' and '.join(places)} name two places"
        raise Refused(what, "Give one of page, cells, lines and section", code="BAD_ARGUMENTS")
    return replace(next(iter(parts), AskedPart()), offset=offset, tokens=tokens)


def _part(name: str, text: str) -> AskedPart:
    """The part that the argument with this name asks for."""
    span = SPAN.fullmatch(text)
    if span and (span["word"] or name in ("page", "lines")):
        word = (span["word"] or name).lower()
        last = int(span["last"] or TO_THE_END) if span["on"] else int(span["first"])
        lines = (int(span["first"]), last)
        return AskedPart(lines=lines) if word.startswith("line") else AskedPart(pages=lines)
    sheet, _, range = text.rpartition("!")
    cells = CELLS.fullmatch(range.replace("$", "").upper())
    if cells and range and (sheet or any(one in ":0123456789" for one in range)):
        return AskedPart(sheet=sheet.strip("'") or None, cells=_cells(cells), section=text)
    return AskedPart() if text.lower() == WHOLE else AskedPart(section=text)


def _cells(named: re.Match[str]) -> Cells:
    """The cells of B2:C9, B2, B:C or 2:9."""
    first, last = (named["left"], named["top"]), (named["right"], named["bottom"])
    if not named["to"]:
        last = first
    top, _, left, _ = cells_in(f"{first[0] or 'A'}{first[1] or 1}")
    bottom, _, right, _ = cells_in(f"{last[0] or 'A'}{last[1] or 1}")
    return Cells(top, bottom if last[1] else None, left, right if last[0] else None)


def part_of_content(content: bytes, name: str, is_markdown: bool, asked: AskedPart) -> FilePart:
    """Read a part of a plain text."""
    return read_part(PlainText(name, content, is_markdown=is_markdown), asked)


def part_of_reading(packed: bytes, id: str, name: str, asked: AskedPart) -> FilePart:
    """Read a part of what a parser read, as it is stored."""
    return read_part(ReadText(name, unpacked(packed, id)), asked)


def read_part(text: ReadableFile, asked: AskedPart) -> FilePart:
    """Read the part, as much of it as fits. Raises `NotFound` if the file does not have it."""
    outline, remark, room = "", None, asked.tokens
    if asked == AskedPart(tokens=asked.tokens):
        outline = _outline(text, asked.tokens // OUTLINE_SHARE)
        room -= tokens_at_most(outline)
    cells, is_within, remark = _wanted(text, asked)
    shown, after, is_cut = ShownPieces(room, asked.offset, cells), None, False
    for piece in text.pieces(cells):
        if is_within(piece):
            after, is_cut = piece, not shown.add(piece)
            if is_cut:
                break
            after = None
        elif shown.began and after is None:
            after = piece
            goes_on = asked.cells is not None or (asked.pages is not None and piece.table is not None)
            if not goes_on:  # other tables may stand beside this one, and more of a page behind a table of two pages
                break
    if not shown.began:
        label = _empty(text, asked)
        return FilePart(label, "", remark=f"{label} has no text")
    following = after and (shown.rest(text, asked, after) if is_cut else _following(text, after))
    heading = text.titles[shown.title].path if shown.title >= 0 else ()
    remark = remark or (RECOGNISED if shown.is_recognised else None)
    return FilePart(shown.label(text), shown.text, heading, outline, following, remark)


def _wanted(text: ReadableFile, asked: AskedPart) -> tuple[Cells, Callable[[Piece], bool], str | None]:
    """The cells of the tables to show, a test of each piece, and a remark on what else has the name."""
    if asked.pages or asked.lines:
        first, last = asked.pages or asked.lines or (0, 0)
        if asked.pages:
            return ALL_CELLS, lambda one: one.page is not None and first <= one.page <= last, None
        return ALL_CELLS, lambda one: one.line is not None and first <= one.line <= last, None
    if asked.section is None:
        return ALL_CELLS, lambda _: True, None
    wanted = asked.section.strip().casefold()
    if sheet := next((one for one in text.sheets if one.strip().casefold() == wanted), None):
        return ALL_CELLS, lambda one: one.table is not None and one.table.sheet == sheet, None
    if table := next((one for one in text.tables if one.title.strip().casefold() == wanted), None):
        return ALL_CELLS, lambda one: one.table is table, None
    if asked.cells is not None and (text.sheets or text.is_table or not text.titles):
        sheet, cells = _sheet(text, asked.sheet), asked.cells
        return cells, lambda one: _has_cells(one, sheet, cells), None
    if text.is_table and wanted == SHEET_OF_BEFORE:
        return ALL_CELLS, lambda one: one.table is not None, None
    number, count = text.title_named(asked.section)
    path = text.titles[number].path
    others = range(number + 1, len(text.titles))
    end = next((one for one in others if text.titles[one].path[: len(path)] != path), len(text.titles))
    end = next((one for one in others if text.titles[one].path == path), end)
    remark = f"{count} sections have this name. Name the others with those above them: A > B" if count > 1 else None
    return ALL_CELLS, lambda one: number <= one.title < end, remark


def _sheet(text: ReadableFile, named: str | None) -> str:
    """The sheet with this name; the only one if none is named."""
    if text.is_table and (named is None or named.strip().casefold() == SHEET_OF_BEFORE):
        return ""
    fits = [one for one in text.sheets if named is None or one.strip().casefold() == named.strip().casefold()]
    if len(fits) == 1 or (fits and named):
        return fits[0]
    if not text.sheets:
        raise text.no_part("no sheets: its cells are named alone, such as A1:C9" if text.is_table else "no sheets")
    what = f"no sheet {named[:100]!r}" if named else "several sheets: name one, such as Sheet!A1:C9"
    raise text.no_part(what, "sheets")


def _has_cells(piece: Piece, sheet: str, cells: Cells) -> bool:
    table = piece.table
    if table is None or table.sheet != sheet:
        return False
    top, bottom, left, right = cells_in(table_place(table).cells or "A1")
    if right < cells.left or (cells.right is not None and cells.right < left):
        return False
    if piece.row < 0:
        return cells.top <= bottom and (cells.bottom is None or top <= cells.bottom)
    return cells.has_row(table.below_header + piece.row)


def _empty(text: ReadableFile, asked: AskedPart) -> str:
    """The label of a part that is there and has no text. Raises `NotFound` if it is not there."""
    if asked.pages:
        if asked.pages[0] > (text.pages or 0):
            raise text.no_part(f"no page {asked.pages[0]}" if text.pages else "no pages", "pages")
        return f"Page {asked.pages[0]}"
    if asked.lines:
        last = max((one.line or 0 for one in text.pieces()), default=0)
        raise text.no_part(f"only {last:,} lines" if last else "no numbered lines")
    return "That part"


class ShownPieces:
    """The pieces that an answer shows."""

    def __init__(self, room: int, offset: int, cells: Cells) -> None:
        self._room = self._left = room
        self._offset = offset
        self._cells = cells
        self._parts: list[str] = []
        self._shown: list[Piece] = []
        self._last: TableSection | None = None
        self._place = self._into = 0
        """Characters of the part before the next piece, and of that piece."""
        self._key: tuple[int | None, int | None] | None = None
        self._key_place = 0
        """The place where the page or the line of the next piece begins."""
        self.began = False

    @property
    def is_recognised(self) -> bool:
        """True if some of it was recognised in a picture."""
        return any(piece.recognised for piece in self._shown)

    def add(self, piece: Piece) -> bool:
        """Show the piece, as much of it as fits. False: it does not fit, or not all of it."""
        self.began = True
        if (piece.page, piece.line) != self._key and (
            piece.page is None or self._key is None or piece.page != self._key[0]
        ):
            self._key, self._key_place = (piece.page, piece.line), self._place
        start = max(0, self._offset - self._place)
        if start > len(piece.text):
            self._place += len(piece.text) + 1
            return True
        above = ""
        if piece.table is not None and piece.table is not self._last:
            above = table_head(piece.table, self._cells, piece.row)
            above = f"{PARAGRAPH}{_beginning(above, self._left // 2)}"
        whole = f"{above}{piece.between}{piece.text[start:]}"
        cost = tokens_at_most(whole)
        fits = cost <= self._left
        if not fits:
            is_cut = self._left > TOKENS_OF_A_CUT and (2 * self._left >= self._room or not self._shown)
            whole = _beginning(whole, self._left) if is_cut else ""
            self._into = start + max(0, len(whole) - len(above) - len(piece.between))
            if self._into == start:
                return False
        self._left -= cost
        self._last = piece.table
        self._parts.append(whole)
        self._shown.append(piece)
        self._place += len(piece.text) + 1 if fits else 0
        return fits

    @property
    def text(self) -> str:
        """All that is shown."""
        return "".join(self._parts).strip("\n")

    @property
    def title(self) -> int:
        """The number of the title above the beginning; -1 without a title."""
        return self._shown[0].title if self._shown else -1

    def label(self, text: ReadableFile) -> str:
        """The place of what is shown, as a citation names it."""
        tables = [one.table for one in self._shown if one.table is not None]
        if pages := [one.page for one in self._shown if one.page is not None]:
            return _range(text.page_word, min(pages), max(pages))
        if tables and tables[0].has_cells and all(one.sheet == tables[0].sheet for one in tables):
            rows = [one.table.below_header + one.row for one in self._shown if one.table is not None and one.row >= 0]
            places = [cells_in(table_place(one).cells or "A1") for one in tables]
            if not rows:
                return table_place(tables[0]).label
            left = max(self._cells.left, min(one[2] for one in places))
            right = max(one[3] for one in places)
            right = right if self._cells.right is None else min(right, self._cells.right)
            return replace(table_place(tables[0]), cells=cell_range(min(rows), max(rows), left, max(left, right))).label
        lines = [one.line for one in self._shown if one.line is not None]
        return _range("line", min(lines), max(lines)) if lines else WHOLE

    def rest(self, text: ReadableFile, asked: AskedPart, piece: Piece) -> NextPart:
        """The rest of the part, which begins with this piece."""
        total = self._place + self._into
        own = total - self._key_place
        if asked.cells is not None or asked.section is not None:
            return NextPart("the rest of it", {"offset": total})
        following = _following(text, piece)
        arguments = {**following.arguments}
        if "page" in arguments and asked.pages and asked.pages[1] > int(piece.page or 0):
            arguments["page"] = f"{piece.page}-{min(asked.pages[1], text.pages or asked.pages[1])}"
        if "lines" in arguments and asked.lines and asked.lines[1] != TO_THE_END:
            arguments["lines"] = f"{piece.line}-{asked.lines[1]}"
        skipped = self._into if "cells" in arguments else own if arguments else total
        return NextPart(following.what, arguments | ({"offset": skipped} if skipped else {}))


def _following(text: ReadableFile, piece: Piece) -> NextPart:
    """The part of the file that begins with this piece."""
    table = piece.table
    if piece.page is not None:
        return NextPart(f"{text.page_word} {piece.page}", {"page": piece.page})
    if table is not None and table.has_cells:
        where = table_place(table)
        _, bottom, left, right = cells_in(where.cells or "A1")
        if piece.row > 0:
            where = replace(where, cells=cell_range(table.below_header + piece.row, bottom, left, right))
        return NextPart(where.label, {"cells": where.label})
    if piece.line is not None:
        return NextPart(f"line {piece.line}", {"lines": f"{piece.line}-"})
    return NextPart("the rest", {})


def _range(word: str, first: int, last: int) -> str:
    return f"{word} {first}" if first == last else f"{word}s {first}-{last}"


def _beginning(text: str, tokens: int) -> str:
    """The first characters of the text, in at most this number of tokens."""
    low, high = 0, min(len(text), 12 * max(0, tokens))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens_at_most(text[:middle]) <= tokens else (low, middle - 1)
    return text[:low]


def _outline(text: ReadableFile, room: int) -> str:
    """The titles with their places, and the tables with theirs: of many, the upper levels and the sheets."""
    depth = max((len(one.path) for one in text.titles), default=1)
    lines: list[str] = []
    for level in range(depth, 0, -1):
        titles = [one for one in text.titles if len(one.path) <= level and not one.is_listing]
        lines = [
            f"{'  ' * (len(one.path) - 1)}- {one.path[-1]}{f' ({one.place})' if one.place else ''}" for one in titles
        ]
        for tables in (_tables(text, LONGEST_COLUMNS), _tables(text, 0), _sheets(text)):
            lines = [*lines[: len(titles)], *tables]
            if tokens_at_most("\n".join(lines)) + 1 <= room:
                return "\n".join(lines)
    fitting: list[str] = []
    for line in lines:
        room -= tokens_at_most(f"{line}\n")
        if room < 0:
            return "\n".join([*fitting, f"… and {len(lines) - len(fitting):,} more"])
        fitting.append(line)
    return "\n".join(fitting)


def _tables(text: ReadableFile, longest: int) -> Iterator[str]:
    """The lines of the outline on tables, each with the beginning of its columns, and on empty sheets."""
    for table in text.tables:
        if table.has_cells or table.title:
            where = table_place(table).label
            title = f" {table.title}" if table.title else ""
            names = ", ".join(filter(None, table.header)) if longest else ""
            columns = f": {names if len(names) <= longest else names[: longest - 1] + '…'}" if names else ""
            yield f"- {'' if table.has_cells else 'table '}{where}{title}, {_counted(len(table.rows), 'row')}{columns}"
    for sheet in text.sheets:
        if all(one.sheet != sheet for one in text.tables):
            yield f"- {sheet}: no table"


def _sheets(text: ReadableFile) -> Iterator[str]:
    """The lines of the outline on sheets, with what is in each."""
    for sheet in text.sheets:
        tables = [one for one in text.tables if one.sheet == sheet]
        places = [cells_in(table_place(one).cells or "A1") for one in tables]
        if places:
            top, bottom, left, right = zip(*places, strict=True)
            label = f"{sheet}!{cell_range(min(top), max(bottom), min(left), max(right))}"
            rows = _counted(sum(len(one.rows) for one in tables), "row")
            yield f"- {label}, {_counted(len(tables), 'table')}, {rows}"


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
