"""Checks citations: does this text stand at that place of that version of a file?"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.files.cutting import ReadingWork, label_above
from loci.files.differences import ComparedPart, TextPlaces, table_rows
from loci.files.file import FileVersion, StoredFile
from loci.files.lake import Lake, unpacked
from loci.files.locators import Locator, cell_range, cells_in, place_of
from loci.files.reading import TABLES, Reading, TableSection, TextSection
from loci.files.search_query import COLLECTION, PAST
from loci.files.versions import Versions
from loci.search.document_index import DocumentIndex

CHUNK_ID = re.compile(r"(?P<file>ds-[0-9a-f]+)(@(?P<version>\d{1,6}))?#\d{1,6}")
AROUND = 200
"""Characters of true text on each side."""
MOST_ELSEWHERE = 5
OTHER_VERSIONS = 5
EVERYWHERE = Locator()
BETWEEN = " | "
"""The text between the cells of a row."""
LONGEST_NAME = 300
MOST_IN_ROW = 20
"""Places in a row whose columns are named."""
QUOTES, APOSTROPHES, DASHES = '"“”„«»', "'’‘‚`´", "-–—‑−"  # noqa: RUF001
SPACES = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000|"
)
"""A bar stands between the cells of a row."""
ALIKE = str.maketrans(
    {one: group[0] for group in (QUOTES, APOSTROPHES, DASHES) for one in group}
    | dict.fromkeys(SPACES, " ")
    | {"ς": "σ"}  # noqa: RUF001
)
ENDS = f"{QUOTES}{APOSTROPHES}…"
GAP = re.compile(r" {2,}")
WORD_END = re.compile(r"[^a-z0-9_]|$")
ENDS_IN_WORD, GOES_ON = re.compile(r"([a-z0-9_]|\d[.,])\Z"), re.compile(r"[a-z0-9_]|[.,]\d")
"""The patterns before and behind a place that is not the beginning or the end of a word or number."""


class WantedText:
    """A text that is looked for. Words and numbers must be whole: 40 is not in 1,240 or 40.5.

    The time grows with the other text alone, however the two are made: a pattern that also allowed for spaces would try
    each of a thousand words again at every place.
    """

    def __init__(self, text: str) -> None:
        words = _folded(text).strip(f" {_folded(ENDS)}").split()
        if not words:
            raise Refused("There is no text to check", "Give the words that you cite", code="EMPTY_TEXT")
        self._wanted = " ".join(words)
        self._begins_in_word, self._ends_in_word = _is_of_word(self._wanted[0]), _is_of_word(self._wanted[-1])

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The start and the end of each place that has it."""
        folded = _folded(text)
        gaps = [(one.start(), one.end() - one.start() - 1) for one in GAP.finditer(folded)]
        single = GAP.sub(" ", folded)
        left_out = [0, *accumulate(length for _, length in gaps)]
        cuts = [start - before for (start, _), before in zip(gaps, left_out, strict=False)]
        start = single.find(self._wanted)
        while start >= 0:
            end = start + len(self._wanted)
            if self._is_whole(single, start, end):
                yield start + left_out[bisect_left(cuts, start)], end + left_out[bisect_left(cuts, end - 1)]
                after = end
            else:  # inside a word nothing whole begins
                word = WORD_END.search(single, start) if self._begins_in_word else None
                after = max(start + 1, word.start() if word else 0)
            start = single.find(self._wanted, after)

    def _is_whole(self, text: str, start: int, end: int) -> bool:
        if self._begins_in_word and ENDS_IN_WORD.search(text[max(0, start - 2) : start]):
            return False
        return not (self._ends_in_word and GOES_ON.match(text, end))

    def is_in(self, text: str) -> bool:
        """True if the text has it somewhere."""
        return next(self.spans(text), None) is not None


@dataclass(frozen=True, slots=True)
class CitedCells:
    """The names of cells: those of their table, of their columns and of their row."""

    label: str
    sheet: str | None
    caption: str
    columns: tuple[str, ...]
    """The headers of the columns that have the text: more than one if it stands in several."""
    row: str
    """The first cell of the row."""
    group: str
    """The row above that the row is a part of, such as the year of a month."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place where the text stands, and the true text there."""

    where: Locator
    text: str
    cells: CitedCells | None = None
    """The names of the cells, if it stands in a table."""


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """The verdict on a citation."""

    file: StoredFile
    version: FileVersion
    cited: Locator
    """The place of the passage."""
    is_true: bool
    actual: str
    """The text around it at that place; if it does not stand there, the passage."""
    elsewhere: tuple[Occurrence, ...]
    """Places of this version that have the text, if the cited place does not."""
    other_versions: tuple[int, ...]
    """Versions of the file that have it, if this one does not."""
    cells: tuple[CitedCells, ...] = ()
    """The first cells at the cited place that have it, with the names of their columns and rows."""


class Citations:
    """Looks in what was read out of each version."""

    def __init__(
        self, lake: Lake, versions: Versions, index: DocumentIndex, work: ReadingWork, *, reads_contents: bool
    ) -> None:
        self._work = work
        self._reads_contents = reads_contents
        """True: compare the stored content with its hash, too. Nothing else notices a damaged disk."""
        self._lake = lake
        self._versions = versions
        self._index = index

    def check(self, owner: Owner, chunk_id: str, text: str) -> CheckedCitation:
        """Look for the text at the place of the passage; if it is not there, in the rest of the file."""
        named = CHUNK_ID.fullmatch(chunk_id)
        if named is None:
            raise _unknown(chunk_id)
        file = self._lake.get(owner, named["file"])
        number = int(named["version"]) if named["version"] else None
        version = self._versions.get(owner, file, number)
        held = self._index.chunks(owner, COLLECTION if number is None else PAST, [chunk_id]).get(chunk_id)
        if held is None:
            raise _unknown(chunk_id)
        cited = place_of(held)
        wanted = WantedText(text)
        if self._reads_contents:
            self._lake.content(owner, file.id, version)
        packed = self._lake.packed_reading(owner, file.id, version)
        there, elsewhere = self._work.call(version.bytes, places_of, packed, file.id, text, cited)
        in_passage = next(wanted.spans(held.text), None)
        if there or in_passage is not None:
            actual = there[0].text if there else _around(held.text, in_passage)
            cells = tuple(one.cells for one in there if one.cells is not None)
            return CheckedCitation(file, version, cited, True, actual, (), (), cells)
        others = () if elsewhere else tuple(self._others(owner, file, version, text))
        return CheckedCitation(file, version, cited, False, held.text[: 4 * AROUND], tuple(elsewhere), others)

    def _others(self, owner: Owner, file: StoredFile, version: FileVersion, text: str) -> Iterator[int]:
        known = [one for one in self._versions.for_file(owner, file) if one.number != version.number]
        for one in reversed(known[-OTHER_VERSIONS:]):
            try:
                packed = self._lake.packed_reading(owner, file.id, one)
                has_it = self._work.call(one.bytes, has_text, packed, file.id, text)
            except (NotFound, Refused):  # damaged
                continue
            if has_it:
                yield one.number


def places_of(packed: bytes, id: str, text: str, cited: Locator) -> tuple[list[Occurrence], list[Occurrence]]:
    """The first places of the text where it is cited in this packed reading; else the first other places of it."""
    reading, wanted = unpacked(packed, id), WantedText(text)
    if reading.format in TABLES.values():  # a passage of before names the sheet Sheet1
        cited = replace(cited, sheet=None)
    covered = (one for one in occurrences(reading, wanted, cited) if _covers(cited, one.where))
    there = [*islice(covered, MOST_ELSEWHERE)]
    return there, [] if there else [*islice(occurrences(reading, wanted), MOST_ELSEWHERE)]


def has_text(packed: bytes, id: str, text: str) -> bool:
    """True if the text stands anywhere in this packed reading."""
    return next(occurrences(unpacked(packed, id), WantedText(text)), None) is not None


def occurrences(reading: Reading, wanted: WantedText, cited: Locator = EVERYWHERE) -> Iterator[Occurrence]:
    """All places that have the text, of a table the cell or else the row. With a cited place, only places near it."""
    for section in reading.sections:
        if isinstance(section, TextSection):
            yield from _in_text(section, wanted, cited)
        elif cited.sheet in (None, section.sheet):
            yield from _in_table(section, wanted)


def _in_text(section: TextSection, wanted: WantedText, cited: Locator) -> Iterator[Occurrence]:
    begin, end = _lines_of(section, cited)
    places = TextPlaces(section)
    for start, stop in wanted.spans(section.text[begin:end]):
        where = places.between(begin + start, begin + stop)
        yield Occurrence(where, _around(section.text, (begin + start, begin + stop)))


def _lines_of(section: TextSection, cited: Locator) -> tuple[int, int]:
    """The start and the end of the cited lines in the text."""
    if cited.lines is None or section.first_line is None:
        return 0, len(section.text)
    begin = _start_of_line(section.text, cited.lines[0] - section.first_line)
    return begin, _start_of_line(section.text, cited.lines[1] - section.first_line + 1)


def _start_of_line(text: str, number: int) -> int:
    at = 0
    for _ in range(number):
        at = text.find("\n", at) + 1
        if not at:
            return len(text)
    return at


def _in_table(table: TableSection, wanted: WantedText) -> Iterator[Occurrence]:
    for row in table_rows(table):
        spans = [*islice(wanted.spans(row.text), MOST_IN_ROW)]
        if not spans:
            continue
        where = row.where
        hits = [at for at, cell in enumerate(row.cells) if wanted.is_in(cell)]
        if table.has_cells and hits:
            column = row.column + hits[0]
            where = Locator(sheet=table.sheet or None, cells=cell_range(row.row, row.last_row, column, column))
        yield Occurrence(where, _around(row.text, spans[0]), _named(table, row, where, spans))


def _named(table: TableSection, row: ComparedPart, where: Locator, spans: Sequence[tuple[int, int]]) -> CitedCells:
    """The names of the cells of the row that have the text in these spans."""
    ends = [*accumulate(len(one) + len(BETWEEN) for one in row.cells)]
    hits = [
        at
        for at, (cell, end) in enumerate(zip(row.cells, ends, strict=True))
        if any(begin < end - len(BETWEEN) and end - len(BETWEEN) - len(cell) < stop for begin, stop in spans)
    ]
    names = [table.header[at] for at in hits if at < len(table.header) and row.row >= table.below_header]
    columns = tuple(one for one in dict.fromkeys(" ".join(one.split()) for one in names) if one)
    number = row.row - table.below_header
    is_row = 0 <= number < len(table.rows) and row.cells == table.rows[number]
    first = next((one for one in row.cells if one), "") if is_row else ""
    group = label_above(table, number) if is_row and number else ""
    return CitedCells(
        where.label, table.sheet or None, table.title, columns, " ".join(first.split())[:LONGEST_NAME], group
    )


def _around(text: str, span: tuple[int, int] | None) -> str:
    if span is None:
        return ""
    return text[max(0, span[0] - AROUND) : span[1] + AROUND].strip()


def _covers(cited: Locator, found: Locator) -> bool:
    """True if the cited place has the found one: the same page or slide, cells among its cells, lines among its."""
    if cited.sheet is not None or cited.cells is not None:
        return cited.sheet == found.sheet and _cells_cover(cited.cells, found.cells)
    if cited.page is not None or cited.slide is not None:
        return (cited.page, cited.slide) == (found.page, found.slide)
    if cited.lines is not None and found.lines is not None:
        return cited.lines[0] <= found.lines[0] and found.lines[1] <= cited.lines[1]
    return replace(cited, recognised=False) == EVERYWHERE


def _cells_cover(outer: str | None, inner: str | None) -> bool:
    if outer is None or inner is None:
        return True
    top, bottom, left, right = cells_in(outer)
    first_row, last_row, first_column, last_column = cells_in(inner)
    return top <= first_row and last_row <= bottom and left <= first_column and last_column <= right


def _unknown(chunk_id: str) -> NotFound:
    return NotFound(
        f"There is no passage {chunk_id[:80]!r}",
        "Use a chunk_id that search_memory gave; if the file changed since, search again",
        code="PASSAGE_NOT_FOUND",
    )


def _folded(text: str) -> str:
    """The text in a form in which alike texts are equal, character by character."""
    return text.replace("İ", "i").lower().translate(ALIKE)


def _is_of_word(one: str) -> bool:
    return one.isascii() and one.isalnum()
