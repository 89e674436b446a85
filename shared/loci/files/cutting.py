"""Cuts a reading into passages: running text as documents are cut, tables by rows, each piece under its header."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loci.files.locators import Locator, cell_range, sheet_label
from loci.files.reading import Reading, Section, TableSection, TextSection
from loci.search.passages import LONGEST, Block, Count, embedded_text, passages
from loci.search.ranking import Chunk
from loci.search.words import index_words

MOST_PASSAGES = 20_000
CELL_CHARACTERS = 500
"""Of one cell that a passage shows: the rest of it is in the file."""
SUMMARY_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage and its place."""

    text: str
    heading: tuple[str, ...]
    where: Locator


def cut(document: str, name: str, reading: Reading, count: Count, longest: int = LONGEST) -> list[Chunk]:
    """The passages of a file as chunks for the index, numbered from 0. The path of each ends with its place."""
    longest -= min(count([_stem(name)])[0], longest // 2)
    pieces: list[Piece] = []
    for section in reading.sections:
        pieces.extend(_pieces(section, count, longest))
        if len(pieces) >= MOST_PASSAGES:
            break
    return [_chunk(document, name, number, piece) for number, piece in enumerate(pieces[:MOST_PASSAGES])]


def summary(reading: Reading) -> str:
    """The beginning of the file, and what is in it: extracted, not written."""
    parts: list[str] = []
    if reading.sheets:
        parts.append("Sheets: " + ", ".join(reading.sheets[:20]) + ".")
    for table in reading.tables[:5]:
        columns = ", ".join(one for one in table.header if one)
        where = table.title or table.sheet or (f"page {table.page}" if table.page else "")
        parts.append(f"Table {where!r} with {len(table.rows)} rows: {columns}.")
    texts = [" ".join(one.text.split()) for one in reading.sections if isinstance(one, TextSection)]
    parts.append(" ".join(texts[:3]))
    return " ".join(part for part in parts if part.strip())[:SUMMARY_CHARACTERS].strip()


def _pieces(section: Section, count: Count, longest: int) -> Iterator[Piece]:
    if isinstance(section, TextSection):
        yield from _of_text(section, count, longest)
    else:
        yield from _of_table(section, count, longest)


def _of_text(section: TextSection, count: Count, longest: int) -> Iterator[Piece]:
    text = section.text
    if not text.strip():
        return
    for one in passages(text, [Block(0, len(text), section.heading)], count, longest):
        piece = text[one.start : one.end]
        lines = None
        if section.first_line is not None:
            first = section.first_line + text.count("\n", 0, one.start)
            lines = (first, first + piece.rstrip("\n").count("\n"))
        where = Locator(page=section.page, box=section.box, slide=section.slide, lines=lines)
        yield Piece(piece, section.heading, where)


def _of_table(table: TableSection, count: Count, longest: int) -> Iterator[Piece]:
    """Rows together as long as they fit, under the table's title and its header."""
    heading = tuple(one for one in dict.fromkeys((table.sheet or "", table.title)) if one)
    header = _line(table.header) if table.header else ""
    lines = [_line(row) for row in table.rows]
    sizes = count([header, " ".join(heading), *lines])
    room = max(longest // 4, longest - sizes[0] - sizes[1])
    first = 0
    while first < len(lines):
        end, used = first, 0
        while end < len(lines) and (end == first or used + sizes[end + 2] <= room):
            used += sizes[end + 2]
            end += 1
        body = lines[first:end]
        yield Piece("\n".join([header, *body] if header else body), heading, _cells(table, first, end))
        first = end
    if not lines and header:
        yield Piece(header, heading, _cells(table, 0, 0))


def _cells(table: TableSection, first: int, end: int) -> Locator:
    if table.sheet is None:
        return Locator(page=table.page, box=table.box, slide=table.slide)
    below = table.first_row + (1 if table.header else 0)
    top = table.first_row if first == 0 else below + first
    bottom = below + end - 1 if end else table.first_row
    width = max(len(table.header), *(len(row) for row in table.rows[first:end]), 1)
    cells = cell_range(top, bottom, table.first_column, table.first_column + width - 1)
    return Locator(sheet=table.sheet, cells=cells, rows=tuple(range(below + first, below + end)))


def _line(cells: Sequence[str]) -> str:
    return " | ".join(" ".join(one.split())[:CELL_CHARACTERS] for one in cells)


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def _labels(where: Locator) -> list[str]:
    return [] if where.sheet is None else [sheet_label(where.sheet)]


def _chunk(document: str, name: str, number: int, piece: Piece) -> Chunk:
    above = [name, *piece.heading]
    # A row says little without the name of its file: the models read it above the passage, too.
    heading = (_stem(name), *piece.heading)
    return Chunk(
        id=f"{document}#{number}",
        document=document,
        path=f"{name}#{piece.where.fragment}",
        title=name,
        heading=heading,
        first_line=piece.where.lines[0] if piece.where.lines else 0,
        last_line=piece.where.lines[1] if piece.where.lines else 0,
        text=piece.text,
        hash=hashlib.sha256(embedded_text(heading, piece.text).encode()).hexdigest(),
        words=" ".join([*index_words(" ".join(above)), *index_words(piece.text), *_labels(piece.where)]),
    )
