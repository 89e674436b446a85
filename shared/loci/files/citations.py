"""Checks citations: does this text stand at that place of that version of a file?"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.files.differences import TextPlaces, table_rows
from loci.files.file import FileVersion, StoredFile
from loci.files.lake import Lake, unpacked
from loci.files.locators import CELLS, Locator, cell_range, place_of
from loci.files.long_work import LongWork
from loci.files.reading import Reading, TableSection, TextSection
from loci.files.scope import COLLECTION, PAST
from loci.files.versions import Versions
from loci.files.wanted_text import WantedText
from loci.search.document_index import DocumentIndex

CHUNK_ID = re.compile(r"(?P<file>ds-[0-9a-f]+)(@(?P<version>\d{1,6}))?#\d{1,6}")
AROUND = 200
"""Characters of true text on each side."""
MOST_ELSEWHERE = 5
OTHER_VERSIONS = 5
EVERYWHERE = Locator()


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place where the text stands, and the true text there."""

    where: Locator
    text: str


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
    """Other places of this version that have it, if the cited one does not."""
    other_versions: tuple[int, ...]
    """Versions of the file that have it, if this one does not."""


class Citations:
    """Looks in what was read out of each version."""

    def __init__(
        self, lake: Lake, versions: Versions, index: DocumentIndex, work: LongWork, *, reads_contents: bool
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
        if there is not None or in_passage is not None:
            actual = there.text if there else _around(held.text, in_passage)
            return CheckedCitation(file, version, cited, True, actual, (), ())
        others = () if elsewhere else tuple(self._others(owner, file, version, text))
        return CheckedCitation(file, version, cited, False, held.text[: 4 * AROUND], elsewhere, others)

    def _others(self, owner: Owner, file: StoredFile, version: FileVersion, text: str) -> Iterator[int]:
        known = [one for one in self._versions.of(owner, file) if one.number != version.number]
        for one in reversed(known[-OTHER_VERSIONS:]):
            try:
                packed = self._lake.packed_reading(owner, file.id, one)
                has_it = self._work.call(one.bytes, has_text, packed, file.id, text)
            except (NotFound, Refused):  # damaged
                continue
            if has_it:
                yield one.number


def places_of(packed: bytes, id: str, text: str, cited: Locator) -> tuple[Occurrence | None, tuple[Occurrence, ...]]:
    """The text where it is cited in this packed reading; if it does not stand there, the first other places of it."""
    reading, wanted = unpacked(packed, id), WantedText(text)
    there = next((one for one in occurrences(reading, wanted, cited) if _covers(cited, one.where)), None)
    return there, () if there else tuple(islice(occurrences(reading, wanted), MOST_ELSEWHERE))


def has_text(packed: bytes, id: str, text: str) -> bool:
    """True if the text stands anywhere in this packed reading."""
    return next(occurrences(unpacked(packed, id), WantedText(text)), None) is not None


def occurrences(reading: Reading, wanted: WantedText, cited: Locator = EVERYWHERE) -> Iterator[Occurrence]:
    """Every place that has the text, of a table the cell or else the row. With a cited place, only what is near it."""
    for section in reading.sections:
        if isinstance(section, TextSection):
            yield from _in_text(section, wanted, cited)
        elif cited.sheet in (None, section.sheet):
            yield from _in_table(section, wanted)


def _in_text(section: TextSection, wanted: WantedText, cited: Locator) -> Iterator[Occurrence]:
    begin, end = _lines_of(section, cited)
    places = TextPlaces(section)
    for start, stop in wanted.spans(section.text[begin:end]):
        where = places.of(begin + start, begin + stop)
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
        span = next(wanted.spans(row.text), None)
        if span is None:
            continue
        where = row.where
        hits = [at for at, cell in enumerate(row.cells) if wanted.is_in(cell)]
        if table.sheet is not None and hits:
            column = row.column + hits[0]
            where = Locator(sheet=table.sheet, cells=cell_range(row.row, row.last_row, column, column))
        yield Occurrence(where, _around(row.text, span))


def _around(text: str, span: tuple[int, int] | None) -> str:
    if span is None:
        return ""
    return text[max(0, span[0] - AROUND) : span[1] + AROUND].strip()


def _covers(cited: Locator, found: Locator) -> bool:
    """True if the cited place has the found one: the same page or slide, cells among its cells, lines among its."""
    if cited.sheet is not None:
        return cited.sheet == found.sheet and _cells_cover(cited.cells, found.cells)
    if cited.page is not None or cited.slide is not None:
        return (cited.page, cited.slide) == (found.page, found.slide)
    if cited.lines is not None and found.lines is not None:
        return cited.lines[0] <= found.lines[0] and found.lines[1] <= cited.lines[1]
    return cited == Locator()


def _cells_cover(outer: str | None, inner: str | None) -> bool:
    if outer is None or inner is None:
        return True
    left, top, right, bottom = _corners(outer)
    inner_left, inner_top, inner_right, inner_bottom = _corners(inner)
    return left <= inner_left and top <= inner_top and inner_right <= right and inner_bottom <= bottom


def _corners(cells: str) -> tuple[int, int, int, int]:
    if not CELLS.fullmatch(cells):
        raise ValueError("no such cells")
    first, _, last = cells.partition(":")
    return (*_column_and_row(first), *_column_and_row(last or first))


def _column_and_row(cell: str) -> tuple[int, int]:
    letters = cell.rstrip("0123456789")
    column = 0
    for one in letters:
        column = column * 26 + ord(one) - ord("A") + 1
    return column, int(cell[len(letters) :])


def _unknown(chunk_id: str) -> NotFound:
    return NotFound(
        f"There is no passage {chunk_id[:80]!r}",
        "Use a chunk_id that search_memory gave; if the file changed since, search again",
        code="PASSAGE_NOT_FOUND",
    )
