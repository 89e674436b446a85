"""Takes files in: reads each one, cuts it into passages, and puts them into the index."""

from collections.abc import Callable
from dataclasses import replace

from loci.core.errors import Refused, Unavailable
from loci.core.identity import Owner
from loci.core.stores import WriteLocks
from loci.files.cutting import cut, summary
from loci.files.file import FileVersion, StoredFile
from loci.files.lake import Lake, content_key
from loci.files.plain_text import is_plain, read_plain
from loci.files.ports import FileReader
from loci.files.reading import Reading
from loci.files.scope import COLLECTION
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder
from loci.search.passages import LONGEST
from loci.search.ranking import Chunk, TagsAndDate

LOCK_SECONDS = 5.0
BATCH = 128
"""Passages that are embedded together."""


class FileIngest:
    """Brings one file after the other into the index. After a crash, the next try begins where none was finished."""

    def __init__(
        self,
        lake: Lake,
        index: DocumentIndex,
        embedder: Embedder,
        reader: Callable[[], FileReader],
        locks: WriteLocks,
    ) -> None:
        self._lake = lake
        self._index = index
        self._embedder = embedder
        self._reader = reader
        self._locks = locks

    def run(self, owner: Owner, id: str) -> StoredFile:
        """Read the newest version of the file, if it is not read yet. Searches then find its words."""
        with self._locks.take(owner, f"file/{id}", LOCK_SECONDS):
            file = self._lake.get(owner, id)
            if file.newest.status in ("okay", "error"):
                return file
            file = self._lake.put(owner, replace(file, newest=replace(file.newest, status="running")))
            try:
                reading = self._reading(owner, file)
            except Refused as error:
                failed = replace(file.newest, status="error", reason=str(error))
                return self._lake.put(owner, replace(file, newest=failed))
            return self._indexed(owner, file, reading)

    def embed(self, owner: Owner, id: str) -> StoredFile:
        """Give the passages of the file their vectors, if there is a model."""
        model = self._embedder.model()
        with self._locks.take(owner, f"file/{id}", LOCK_SECONDS):
            file = self._lake.get(owner, id)
            current = file.current
            if model is None or current is None or current.model == model.identity:
                return file
            ids = [f"{id}#{number}" for number in range(current.chunks)]
            chunks = [*self._index.chunks(owner, COLLECTION, ids).values()]
            if len(chunks) < current.chunks:
                raise Unavailable("The file is not in the index", "Run: loci files read --all", code="NOT_INDEXED")
            chunks = self._embedded(owner, model.identity, sorted(chunks, key=lambda one: ids.index(one.id)))
            self._index.put(owner, COLLECTION, id, chunks, _facts(file, current))
            embedded = replace(current, model=model.identity)
            newest = embedded if file.newest.number == current.number else file.newest
            return self._lake.put(owner, replace(file, newest=newest, current=embedded))

    def forget(self, owner: Owner, file: StoredFile) -> None:
        """Remove the file from the index and from the lake."""
        self._index.remove(owner, COLLECTION, file.id)
        self._lake.remove(owner, file)

    def _reading(self, owner: Owner, file: StoredFile) -> Reading:
        if is_plain(file.name):
            return read_plain(file.name, self._lake.content(owner, file.id, file.newest))
        return self._reader().read(owner, content_key(file.id, file.newest.sha256), file.name)

    def _indexed(self, owner: Owner, file: StoredFile, reading: Reading) -> StoredFile:
        chunks = cut(file.id, file.name, reading, self._embedder.count, self._longest())
        version = _read(file.newest, reading, chunks)
        self._lake.keep_reading(owner, file.id, version, reading)
        self._index.put(owner, COLLECTION, file.id, chunks, _facts(file, version))
        if file.current is not None and file.current.number != version.number:
            self._lake.keep_history(owner, file.id, file.current)
        return self._lake.put(owner, file.read_as(version))

    def _embedded(self, owner: Owner, model: str, chunks: list[Chunk]) -> list[Chunk]:
        held = self._index.embeddings(owner, model, [one.hash for one in chunks])
        missing = {one.hash: one for one in chunks if one.hash not in held}
        waiting = [*missing.values()]
        for at in range(0, len(waiting), BATCH):
            some = waiting[at : at + BATCH]
            made = self._embedder.passages([_embedded_text(one) for one in some])
            held |= {one.hash: embedding for one, embedding in zip(some, made, strict=True)}
        return [replace(one, embedding=held.get(one.hash)) for one in chunks]

    def _longest(self) -> int:
        model = self._embedder.model()
        return min(LONGEST, model.longest - 2) if model else LONGEST


def _read(version: FileVersion, reading: Reading, chunks: list[Chunk]) -> FileVersion:
    return replace(
        version,
        status="okay",
        reason=None,
        format=reading.format,
        chunks=len(chunks),
        figures=reading.figures,
        tables=len(reading.tables),
        sheets=reading.sheets,
        pages=reading.pages,
        summary=summary(reading),
        remarks=reading.remarks,
    )


def _facts(file: StoredFile, version: FileVersion) -> TagsAndDate:
    return TagsAndDate((f"type:{version.format}", f"kind:{file.kind}", f"file:{file.id}"), version.added_at[:10])


def _embedded_text(chunk: Chunk) -> str:
    from loci.search.passages import embedded_text

    return embedded_text(chunk.heading, chunk.text)
