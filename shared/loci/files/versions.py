"""The versions of files: the one that was current at a time, each one's contents, and the passages of past versions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.trust import saw
from loci.files.cutting import CuttingRules, ReadingWork, passages_again, table_place
from loci.files.file import READER_VERSION, FileVersion, StoredFile
from loci.files.file_part import AskedPart, FilePart, part_of_content, part_of_reading
from loci.files.lake import Lake
from loci.files.locators import Locator, place_of
from loci.files.reading import PLAIN, has_text_name
from loci.files.search_query import COLLECTION, PAST, VersionsThen
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder
from loci.search.passages import LONGEST
from loci.search.ranking import Chunk, TagsAndDate


@dataclass(frozen=True, slots=True)
class FilePassage:
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


class Versions:
    """Keeps the versions that were read: the current one and, up to a number, those before it."""

    def __init__(self, lake: Lake, index: DocumentIndex, embedder: Embedder, most: int, work: ReadingWork) -> None:
        self._work = work
        self._lake = lake
        self._index = index
        self._embedder = embedder
        self._most = most

    def for_file(self, owner: Owner, file: StoredFile) -> list[FileVersion]:
        """The versions of the file that were read, oldest first."""
        return _with_current(self._lake.history(owner, file.id), file.current)

    def get(self, owner: Owner, file: StoredFile, number: int | None) -> FileVersion:
        """The version with this number; without one, the current version."""
        known = self.for_file(owner, file)
        found = next((one for one in reversed(known) if number in (None, one.number)), None)
        if found is None:
            have = ", ".join(str(one.number) for one in known) or "none: it was not read yet"
            raise NotFound(
                f"{file.name} has no version {'that was read' if number is None else number}",
                f"Its versions are {have}",
                code="VERSION_NOT_FOUND",
            )
        saw(found.foreign)
        return found

    def before(self, owner: Owner, file: StoredFile, version: FileVersion) -> int:
        """The number of the version before this one."""
        older = [one.number for one in self.for_file(owner, file) if one.number < version.number]
        if not older:
            what = f"{file.name} has no version before {version.number}"
            raise NotFound(what, "Nothing is known that it could differ from", code="VERSION_NOT_FOUND")
        return older[-1]

    def at(self, owner: Owner, time: str) -> VersionsThen:
        """The version of each file that was current at this time. Times are as 2026-05-01T12:00:00Z.

        A file that was added later has none.
        """
        found: dict[str, FileVersion] = {}
        trimmed: list[str] = []
        histories = self._lake.histories(owner)
        for file in self._lake.files(owner):
            kept = _with_current(histories.get(file.id, []), file.current)
            known = [one for one in kept if one.added_at <= time]
            if known:
                found[file.id] = known[-1]
            elif kept and kept[0].number > 1:
                trimmed.append(file.full_path)
        return VersionsThen(found, tuple(sorted(trimmed)))

    def retire(self, owner: Owner, file: StoredFile, version: FileVersion, facts: TagsAndDate) -> None:
        """Move a version and its passages to the past: a newer one takes its place."""
        document = past_document(file.id, version)
        self._index.put(owner, PAST, document, self.chunks(owner, file, version, document), facts)
        self._lake.keep_history(owner, file.id, version)

    def cut_again(self, owner: Owner, file: StoredFile, facts: Callable[[FileVersion], TagsAndDate]) -> None:
        """Cut the passages of the past that an older version of Loci cut, from what was read then."""
        for version in self._lake.history(owner, file.id):
            document = past_document(file.id, version)
            if version.reader < READER_VERSION and (chunks := self.chunks(owner, file, version, document)):
                self._index.put(owner, PAST, document, chunks, facts(version))
                self._lake.keep_history(owner, file.id, replace(version, chunks=len(chunks), reader=READER_VERSION))

    def trim(self, owner: Owner, file: StoredFile) -> None:
        """Forget the oldest versions beyond the number that is kept."""
        older = self.for_file(owner, file)[:-1]
        for version in older[: max(0, len(older) - self._most)]:
            self._index.remove(owner, PAST, past_document(file.id, version))
            self._lake.forget_version(owner, file.id, version)
            with self._lake.turn(owner, file.id):
                self._lake.discard(owner, self._lake.get(owner, file.id), version)

    def forget(self, owner: Owner, file: StoredFile) -> None:
        """Remove the passages of all versions of the past."""
        for version in self._lake.history(owner, file.id):
            self._index.remove(owner, PAST, past_document(file.id, version))

    def longest(self) -> int:
        """The most tokens of a passage."""
        model = self._embedder.model()
        return min(LONGEST, model.longest - 2) if model else LONGEST

    def chunks(self, owner: Owner, file: StoredFile, version: FileVersion, document: str) -> list[Chunk]:
        """Cut the passages from the reading: after a crash the index may have the next version's passages already."""
        rules = CuttingRules(document, file.full_path, self._embedder.count, self.longest())
        try:
            packed = self._lake.packed_reading(owner, file.id, version)
            chunks = self._work.call(version.bytes, passages_again, packed, rules)
        except (NotFound, Refused):  # damaged: its content is still there, to be fetched
            return []
        if version.model is None:
            return chunks
        held = self._index.embeddings(owner, version.model, [one.hash for one in chunks])
        return [replace(one, embedding=held.get(one.hash)) for one in chunks]

    def passages(
        self, owner: Owner, id: str, number: int | None, *, first: int, count: int
    ) -> tuple[FileVersion, list[FilePassage]]:
        """Read at most `count` passages of a version, in the order of the file; the first of all has the number 0.

        Without a number, it is the version that searches find.
        """
        file = self._lake.get(owner, id)
        version = self.get(owner, file, number)
        is_current = file.current is not None and file.current.number == version.number
        collection, document = (COLLECTION, id) if is_current else (PAST, past_document(id, version))
        ids = [f"{document}#{at}" for at in range(max(0, first), min(first + count, version.chunks))]
        held = self._index.chunks(owner, collection, ids) if ids else {}
        found = [held[one] for one in ids if one in held]
        return version, [FilePassage(one.id, one.heading[1:], one.text, place_of(one)) for one in found]

    def part(self, owner: Owner, id: str, number: int | None, asked: AskedPart) -> tuple[FileVersion, FilePart]:
        """Read a part of a version's text: of a plain text as it was added, of other files as a parser read it."""
        file = self._lake.get(owner, id)
        if file.current is None:
            what = f"{file.name} is not read: {file.newest.reason or file.newest.status}"
            raise Refused(what, "Look at ingestion_status", code="FILE_NOT_READ")
        version = self.get(owner, file, number)
        if version.format in PLAIN.values() and has_text_name(file.name):
            content = self._lake.content(owner, id, version)
            is_markdown = version.format == "md"
            return version, self._work.call(version.bytes, part_of_content, content, file.name, is_markdown, asked)
        packed = self._lake.packed_reading(owner, id, version)
        return version, self._work.call(version.bytes, part_of_reading, packed, id, file.name, asked)

    def tables(self, owner: Owner, id: str, number: int | None) -> list[TablePlace]:
        """All tables of a version, in the order of the file."""
        version = self.get(owner, self._lake.get(owner, id), number)
        if not version.tables:
            return []
        reading = self._lake.reading(owner, id, version)
        return [TablePlace(one.title, table_place(one), one.header, len(one.rows)) for one in reading.tables]


def past_document(id: str, version: FileVersion) -> str:
    """The id of a version's document in the collection of the past."""
    return f"{id}@{version.number}"


def _with_current(older: Sequence[FileVersion], current: FileVersion | None) -> list[FileVersion]:
    """The versions, oldest first. After a crash the current version may be among the older ones too."""
    if current is None:
        return [*older]
    return [*(one for one in older if one.number < current.number), current]
