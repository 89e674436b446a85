"""Cuts a reading into passages: running text as documents are cut, tables by rows, each piece under its header.

For a large file another process does that: Python runs one thread at a time, so a server that cut a log itself would
answer nobody meanwhile.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, takewhile
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

from loci.core.errors import Unavailable
from loci.files.differences import FileChange, changes
from loci.files.extracted_summary import extracted_summary
from loci.files.file import READER_VERSION, RULES, FileVersion
from loci.files.lake import packed, unpacked
from loci.files.locators import Box, LocatedText, Locator, cell_range, place_of, sheet_label
from loci.files.reading import (
    Reading,
    Section,
    TableSection,
    TextSection,
    checked,
    read_text,
    stopped,
)
from loci.search.languages import SAMPLE, language_of
from loci.search.passages import LONGEST, Block, Count, embedded_text, heading_line, passages
from loci.search.ranking import Chunk
from loci.search.words import index_words

if TYPE_CHECKING:
    from loci.core.worker_process import Workers

QUICK_BYTES = 65_536
"""Up to this size this process does the work itself: to ask another one would take longer."""
SECONDS = 120.0
"""Seconds of the processor for the reading of a file."""
MEMORY_BYTES = 1536 << 20
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class ReadingWork:
    """Calls the functions of this module, in worker processes if there are any."""

    def __init__(self, workers: "Workers | None") -> None:
        self.workers = workers
        """The worker processes; None if this process serves nobody else meanwhile."""

    def call(self, size: int, function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Call the function, which reads a content of `size` bytes, and return its result.

        Raises `Refused` if the work takes too much time or memory; `Unavailable` if it may succeed later.
        """
        if self.workers is None or size <= QUICK_BYTES:
            return function(*arguments)
        from loci.core.worker_process import EndedError  # a function on AWS does without

        try:
            return self.workers.call(function, *arguments, seconds=SECONDS, memory_bytes=MEMORY_BYTES)
        except EndedError as ended:
            if ended.why in ("busy", "killed"):
                what = "This machine was too busy to read it" if ended.why == "busy" else "Its reading was ended"
                advice = "Try again in a minute; a file that waits is then read by itself"
                raise Unavailable(what, advice, code="READERS_BUSY") from None
            raise stopped(ended.why) from None


@dataclass(frozen=True, slots=True)
class CuttingRules:
    """Rules for cutting a file into passages."""

    id: str
    """The id of the file; for an earlier version, the id of its document in the index."""
    name: str
    count: Count
    """Picklable: another process may call it."""
    longest: int


@dataclass(frozen=True, slots=True)
class ReadVersion:
    """A version that was read."""

    version: FileVersion
    chunks: list[Chunk]
    packed: bytes
    """The reading of the version, as it is stored."""


def text_read(version: FileVersion, content: bytes, rules: CuttingRules) -> ReadVersion:
    """Read a plain text, or a table of text."""
    return _cut(version, read_text(rules.name, content), rules)


def answer_read(version: FileVersion, said: bytes, rules: CuttingRules) -> ReadVersion:
    """Take over what the program behind the wall said."""
    return _cut(version, checked(said), rules)


def passages_again(packed_reading: bytes, rules: CuttingRules) -> list[Chunk]:
    """Cut a version that was read before."""
    return cut(rules.id, rules.name, unpacked(packed_reading, rules.id), rules.count, rules.longest)


def differences(older: bytes, newer: bytes, id: str, most: int) -> tuple[tuple[FileChange, ...], int]:
    """The first differences between two packed readings of a file, and the number of all."""
    found = changes(unpacked(older, id), unpacked(newer, id))
    first = tuple(islice(found, most))
    return first, len(first) + sum(1 for _ in found)


def _cut(version: FileVersion, reading: Reading, rules: CuttingRules) -> ReadVersion:
    chunks, left_out = cut_with_remark(rules.id, rules.name, reading, rules.count, rules.longest)
    read = replace(
        version,
        status="okay",
        reason=None,
        format=reading.format,
        chunks=len(chunks),
        figures=reading.figures,
        tables=len(reading.tables),
        sheets=reading.sheets,
        pages=reading.pages,
        summary=extracted_summary(reading, rules.name),
        summary_by=RULES,
        remarks=(*reading.remarks, *left_out),
        reader=READER_VERSION,
    )
    return ReadVersion(read, chunks, packed(reading))


MOST_PASSAGES = 20_000
BETWEEN = "\n\n"
"""Stands between paragraphs of one passage."""
CELL_CHARACTERS = 300
"""Characters of a cell in the line of its row. A longer cell is also cut into passages of its own."""
LEAST_ROOM = 4
"""A row gets at least this part of a passage, however long the header is."""
MOST_LINES = 40
"""Rows of a passage. More than these read badly, and one place would name them all."""
NO_TEXT = TextSection(text="")
MOST_IN_GROUP = 60
"""Rows of a group that its label names."""
Row = tuple[int, str, int]
"""The number of a row, its line, and the tokens of that."""


def cut(document: str, name: str, reading: Reading, count: Count, longest: int = LONGEST) -> list[Chunk]:
    """The passages of a file as chunks for the index, numbered from 0. The path of each ends with its place."""
    return cut_with_remark(document, name, reading, count, longest)[0]


def cut_with_remark(
    document: str, name: str, reading: Reading, count: Count, longest: int = LONGEST
) -> tuple[list[Chunk], tuple[str, ...]]:
    """The same, and a remark if the file has more passages than it may."""
    longest -= min(count([_stem(name)])[0], longest // 2)
    language = language_of(_beginning_of(reading.sections))
    above = _headings_above(reading.sections)
    every = (piece for group in _groups(reading.sections) for piece in _pieces(group, above, count, longest))
    pieces = [*islice(every, MOST_PASSAGES + 1)]
    chunks = [_chunk(document, name, number, piece, language) for number, piece in enumerate(pieces[:MOST_PASSAGES])]
    if len(pieces) <= MOST_PASSAGES:
        return chunks, ()
    last = place_of(chunks[-1]).label
    return chunks, (f"Searches find only the first {MOST_PASSAGES:,} passages, up to {last}: split the file",)


def _beginning_of(sections: Sequence[Section]) -> str:
    """The first words of the sections, which tell the language of the file."""
    begun: list[str] = []
    for one in sections:
        begun.append(one.text if isinstance(one, TextSection) else "\n".join(map(row_line, one.rows[:MOST_LINES])))
        if sum(map(len, begun)) > SAMPLE:
            break
    return "\n".join(begun)


def _groups(sections: Sequence[Section]) -> Iterator[Sequence[Section]]:
    """Paragraphs of one page or slide together, and each table by itself."""
    for _, group in groupby(enumerate(sections), key=lambda one: _place(*one)):
        yield [section for _, section in group]


def _place(number: int, section: Section) -> tuple[int | None, ...]:
    return (section.page, section.slide) if isinstance(section, TextSection) else (None, None, number)


def _headings_above(sections: Sequence[Section]) -> Iterator[tuple[str, ...]]:
    """The headings above each table, in order: readings have the headings of texts only.

    They are those of the text before the table, if no heading begins between them. Otherwise the table's title may be
    such a heading, which the text behind the table is under, too; or both texts are under some of the same headings.
    """
    before = NO_TEXT
    tables: list[TableSection] = []
    for one in (*sections, NO_TEXT):
        if isinstance(one, TableSection):
            tables.append(one)
            continue
        for table in tables:
            text, behind = (beside if beside.slide == table.slide else NO_TEXT for beside in (before, one))
            if table.title in ("", " ".join(text.text.split())):
                yield text.heading
            elif table.title in behind.heading:
                yield behind.heading[: behind.heading.index(table.title)]
            else:
                same = takewhile(lambda pair: pair[0] == pair[1], zip(text.heading, behind.heading, strict=False))
                yield tuple(heading for heading, _ in same)
        before, tables = one, []


def _pieces(
    group: Sequence[Section], above: Iterator[tuple[str, ...]], count: Count, longest: int
) -> Iterator[LocatedText]:
    texts = [one for one in group if isinstance(one, TextSection)]
    yield from text_pieces(texts, count, longest, MOST_PASSAGES + 1)
    for one in group:
        if isinstance(one, TableSection):
            yield from table_pieces(one, next(above), count, longest)


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def _chunk(document: str, name: str, number: int, piece: LocatedText, language: str | None) -> Chunk:
    above = [name, *piece.heading]
    # A row says little without the name of its file: the models read it above the passage, too.
    heading = (_stem(name), *piece.heading)
    labels = [] if piece.where.sheet is None else [sheet_label(piece.where.sheet)]
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
        words=" ".join([*index_words(" ".join(above), language), *index_words(piece.text, language), *labels]),
    )


def text_pieces(sections: Sequence[TextSection], count: Count, longest: int, most: int) -> Iterator[LocatedText]:
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
        begin, end = lines.line_number(first, one.start), lines.line_number(last, one.end)
        where = Locator(
            page=within[0].page,
            box=_around([section.box for section in within if section.box is not None]),
            slide=within[0].slide,
            lines=None if begin is None or end is None else (begin, end),
            recognised=any(section.recognised for section in within),
        )
        yield LocatedText(text[one.start : one.end], one.heading, where)


class _Lines:
    """Counts the lines of the sections up to one place after the other: it never counts the same ones twice."""

    def __init__(self, text: str, starts: Sequence[int], sections: Sequence[TextSection]) -> None:
        self._text = text
        self._starts = starts
        self._sections = sections
        self._section, self._place, self._line = -1, 0, 0

    def line_number(self, section: int, place: int) -> int | None:
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


@dataclass(frozen=True, slots=True)
class Columns:
    """Neighbouring columns that passages show together, and their header as a line."""

    first: int
    end: int
    header: str
    key: int | None = None
    """A column on the left that names the rows of a wide table."""

    def line(self, row: Sequence[str]) -> str:
        """The row's cells in these columns."""
        cells = row[self.first : self.end]
        return row_line([row[self.key], *cells] if self.key is not None and any(cells) else cells)


def table_pieces(table: TableSection, above: Sequence[str], count: Count, longest: int) -> Iterator[LocatedText]:
    """The passages of a table. The headings `above` it, the sheet and the title are their headings."""
    heading = tuple(one for one in dict.fromkeys((*above, table.sheet or "", table.title)) if one)
    [taken, header] = count([heading_line(heading), row_line(table.header)])
    lines = [row_line(row) for row in table.rows]
    sizes = count(lines)
    room = longest - taken
    if not table.rows:
        yield LocatedText(row_line(table.header), heading, _where(table, None, 0, len(table.header)))
    whole = Columns(0, _width(table), row_line(table.header) if table.header else "")
    for fits, rows in groupby(range(len(lines)), lambda row: header + sizes[row] <= room):
        numbers = list(rows)
        if fits:
            yield from _packed(table, whole, heading, [(one, lines[one], sizes[one]) for one in numbers], room - header)
            continue
        for some in _columns(table, numbers, count, room):
            parts = [some.line(table.rows[one]) for one in numbers]
            left = max(room // LEAST_ROOM, room - count([some.header])[0])
            yield from _packed(table, some, heading, [*zip(numbers, parts, count(parts), strict=True)], left)
    yield from _long_cells(table, heading, count, longest)


def row_line(cells: Sequence[str]) -> str:
    """The cells in one line. Of a long cell it shows the beginning."""
    shown = [" ".join(one.split()) if len(one) <= CELL_CHARACTERS else _beginning(one) for one in cells]
    return " | ".join(shown) if any(shown) else ""


def _beginning(text: str) -> str:
    return " ".join(text[: 2 * CELL_CHARACTERS].split())[: CELL_CHARACTERS - 1] + "…"


def _packed(
    table: TableSection, columns: Columns, heading: tuple[str, ...], rows: Sequence[Row], room: int
) -> Iterator[LocatedText]:
    """Passages of rows that fit together. Empty rows are left out."""
    kept: list[Row] = []
    used = 0
    for row in rows:
        _, line, size = row
        if not line:
            continue
        is_apart = kept and table.parts and table.part(row[0]) is not table.part(kept[-1][0])
        if kept and (is_apart or used + size + 1 > room or len(kept) >= MOST_LINES):
            yield _piece(table, columns, heading, kept)
            kept, used = [], 0
        kept.append(row)
        used += size + 1
    if kept:
        yield _piece(table, columns, heading, kept)


def _piece(table: TableSection, columns: Columns, heading: tuple[str, ...], rows: Sequence[Row]) -> LocatedText:
    shown = [line for _, line, _ in rows]
    if label := label_above(table, rows[0][0]):
        heading = (*heading, label)
    text = "\n".join([columns.header, *shown] if columns.header else shown)
    where = _where(table, (rows[0][0], rows[-1][0]), columns.first, columns.end)
    if table.has_cells:
        where = replace(where, rows=tuple(table.below_header + number for number, _, _ in rows))
    return LocatedText(text, heading, where)


def label_above(table: TableSection, number: int) -> str:
    """Return the label of the group that a row is in: a year above its months, or a line of its own above figures."""
    row = table.rows[number]
    has_own = bool(row and row[0])
    for above in reversed(table.rows[max(0, number - MOST_IN_GROUP) : number]):
        if not any(above):
            if has_own:  # an empty row ends a group of rows with labels
                return ""
        elif above[0] and not (has_own and any(above[1:])):
            return above[0][:CELL_CHARACTERS]
    return ""


def _where(table: TableSection, rows: tuple[int, int] | None, first: int, end: int) -> Locator:
    """The cells that a passage shows, with the header's cells if it has the table's first row, too."""
    if not table.has_cells:
        if rows is not None and (part := table.part(rows[0])):
            return Locator(page=part.page, box=part.box)
        return Locator(page=table.page, box=table.box, slide=table.slide)
    if rows is None:
        top, bottom = table.first_row, table.below_header - 1
    else:
        top = table.first_row if rows[0] == 0 else table.below_header + rows[0]
        bottom = table.below_header + rows[1]
    last = table.first_column + max(end, first + 1) - 1
    return Locator(sheet=table.sheet or None, cells=cell_range(top, bottom, table.first_column + first, last))


def table_place(table: TableSection) -> Locator:
    """The place of the whole table, with its header."""
    return _where(table, (0, len(table.rows) - 1), 0, _width(table))


def _width(table: TableSection) -> int:
    return max(len(table.header), max(map(len, table.rows), default=0), 1)


def _columns(table: TableSection, numbers: Sequence[int], count: Count, room: int) -> list[Columns]:
    """The columns of wide rows in groups: a row of each fits under its part of the header."""
    width = _width(table)
    padded = [*table.header, *[""] * (width - len(table.header))]
    names = count(padded)
    widest = [0] * width
    for number in numbers:
        for at, cell in enumerate(table.rows[number]):
            widest[at] = max(widest[at], min(len(cell), CELL_CHARACTERS))
    # The widest cell of a column has no more tokens than half its characters, but for scripts without spaces.
    needs = [name + cell // 3 + 2 for name, cell in zip(names, widest, strict=True)]
    key = needs[0] if width > 1 else 0
    found: list[Columns] = []
    first, used = 0, 0
    for at, need in enumerate(needs):
        if at > first and used + need > room - (key if first else 0):
            found.append(_group(table, padded, first, at))
            first, used = at, 0
        used += need
    return [*found, _group(table, padded, first, width)]


def _group(table: TableSection, names: list[str], first: int, end: int) -> Columns:
    key = 0 if first else None
    shown = [names[0], *names[first:end]] if first else names[first:end]
    return Columns(first, end, row_line(shown) if table.header else "", key)


def _long_cells(table: TableSection, heading: tuple[str, ...], count: Count, longest: int) -> Iterator[LocatedText]:
    """The whole text of each cell that is cut short in its row."""
    for number, row in enumerate(table.rows):
        for at, text in enumerate(row):
            if len(text) <= CELL_CHARACTERS:
                continue
            name = table.header[at] if at < len(table.header) else ""
            under = (*heading, name) if name else heading
            cell = _where(table, (number, number), at, at + 1)
            if number == 0 and table.has_cells:
                row_of_it, column = table.below_header, table.first_column + at
                cell = Locator(sheet=table.sheet or None, cells=cell_range(row_of_it, row_of_it, column, column))
            for one in passages(text, [Block(0, len(text), under)], count, longest):
                yield LocatedText(text[one.start : one.end], under, cell)
