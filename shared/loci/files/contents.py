"""The reading of a file, for people who look through it: its passages in their order, and its tables."""

from dataclasses import dataclass

from loci.core.identity import Owner
from loci.files.cutting import table_place
from loci.files.file import FileVersion
from loci.files.lake import Lake
from loci.files.locators import Locator, place_of
from loci.files.scope import COLLECTION, PAST
from loci.files.versions import Versions, past_document
from loci.search.document_index import DocumentIndex


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage, whole."""

    chunk_id: str
    heading: tuple[str, ...]
    text: str
    where: Locator


@dataclass(frozen=True, slots=True)
class TablePlace:
    """A table: where it stands, what its columns are called, and how long it is."""

    title: str
    where: Locator
    columns: tuple[str, ...]
    rows: int


class Contents:
    """Looks into the versions of a file. Without a number, it is the version that searches find."""

    def __init__(self, lake: Lake, versions: Versions, index: DocumentIndex) -> None:
        self._lake = lake
        self._versions = versions
        self._index = index

    def passages(
        self, owner: Owner, id: str, number: int | None, *, first: int, count: int
    ) -> tuple[FileVersion, list[Passage]]:
        """At most so many passages, in the order of the file; the first one of all has the number 0."""
        file = self._lake.get(owner, id)
        version = self._versions.get(owner, file, number)
        is_current = file.current is not None and file.current.number == version.number
        collection, document = (COLLECTION, id) if is_current else (PAST, past_document(id, version))
        ids = [f"{document}#{at}" for at in range(max(0, first), min(first + count, version.chunks))]
        held = self._index.chunks(owner, collection, ids) if ids else {}
        found = [held[one] for one in ids if one in held]
        return version, [Passage(one.id, one.heading[1:], one.text, place_of(one)) for one in found]

    def tables(self, owner: Owner, id: str, number: int | None) -> list[TablePlace]:
        """All tables, in the order of the file."""
        version = self._versions.get(owner, self._lake.get(owner, id), number)
        if not version.tables:
            return []
        reading = self._lake.reading(owner, id, version)
        return [TablePlace(one.title, table_place(one), one.header, len(one.rows)) for one in reading.tables]
