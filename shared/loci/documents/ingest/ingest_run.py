"""One ingest in progress: file by file, embedded in batches, then the removals."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from loci.core.errors import Conflict, NoSpace, NotFound, Refused
from loci.core.finding import first_names
from loci.core.full_disk import freeing
from loci.core.identity import Owner
from loci.core.lazy import Lazy
from loci.core.stores import ABSENT
from loci.documents.catalog import Catalog
from loci.documents.content.encodings import require_text
from loci.documents.document import UNLIMITED_BYTES, Document, Problem, Root
from loci.documents.document_ids import ids_for
from loci.documents.ingest.index_writer import BATCH, DocumentDraft, IndexWriter
from loci.documents.ingest.local_files import below_root, changed_on, read_file
from loci.documents.ingest.outcome import NOTHING_LEFT_OUT, FileFailure, IngestSummary, LeftOut, MissingFolder
from loci.documents.ingest.partial_embeddings import PORTION

if TYPE_CHECKING:
    from loci.documents.content.limited_parser import Tries
    from loci.documents.ingest.cutting import CutDocument
    from loci.documents.ingest.parallel_cutting import ParallelCutting


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to ingest."""

    path: str
    """The path of its document."""
    root: Root


class ExistingDocuments(Protocol):
    """The documents that the library has already."""

    def at(self, path: str) -> tuple[Document | None, str]:
        """The document at that path with its version; None and `ABSENT` if there is none."""
        ...

    def has(self, id: str) -> bool:
        """True if a document has that id."""
        ...

    def is_indexed(self, document: Document) -> bool:
        """True if the document, which is one of these, is current and in the index."""
        ...


class PreloadedDocuments:
    """All documents, read in advance: for the ingest of a whole folder."""

    def __init__(
        self, documents: Mapping[str, tuple[Document, str]], indexed: Callable[[Iterable[Document]], set[str]]
    ) -> None:
        """`indexed` returns the ids of those that are current and in the index."""
        self._documents = documents
        self._ids = {document.id for document, _ in documents.values()}
        self._indexed = Lazy(lambda: indexed(document for document, _ in documents.values()))

    def at(self, path: str) -> tuple[Document | None, str]:
        return self._documents.get(path, (None, ABSENT))

    def has(self, id: str) -> bool:
        return id in self._ids

    def is_indexed(self, document: Document) -> bool:
        return document.id in self._indexed.get()


@dataclass(frozen=True, slots=True)
class DocumentsOnDemand:
    """Documents that are read one by one: for a few files of a large library."""

    catalog: Catalog
    writer: IndexWriter
    owner: Owner

    def at(self, path: str) -> tuple[Document | None, str]:
        entry = self.catalog.find(self.owner, path)
        return entry.document, entry.version

    def has(self, id: str) -> bool:
        return self.catalog.document(self.owner, id) is not None

    def is_indexed(self, document: Document) -> bool:
        return self.writer.is_indexed(self.owner, document)


@dataclass(frozen=True, slots=True)
class FileToCut:
    """A file that has changed, and the document that it will be."""

    source: SourceFile
    id: str
    content: bytes
    version: str
    before: Document | None


class IngestRun:
    """Counts what happens to each file. Call `add` for each file, then `flush` and `remove`, then `summary`."""

    def __init__(
        self,
        owner: Owner,
        catalog: Catalog,
        writer: IndexWriter,
        existing: ExistingDocuments,
        gone: Mapping[str, Document],
        progress: Callable[[str, str], None],
        cutting: "ParallelCutting[FileToCut] | None" = None,
    ) -> None:
        """`gone` are the documents whose files are gone, by hash: a new file with that hash is one that moved.

        With `cutting`, documents that no model embeds are cut by several processes.
        """
        self._owner = owner
        self._catalog = catalog
        self._writer = writer
        self._existing = existing
        self._gone = gone
        self._new_ids = set[str]()
        self._cutting = cutting
        self._progress = progress
        self._pending: list[tuple[SourceFile, DocumentDraft]] = []
        self._pending_chunks = 0
        self._is_careful: bool | None = None
        self._processed = self._removed = self._chunks = self._embedded = 0
        self._unchanged: set[str] = set()
        self._failed: list[FileFailure] = []
        self._problems: list[tuple[str, Problem]] = []
        self._taken: list[str] = []
        self._gone_paths: list[str] = []

    def add(self, source: SourceFile) -> None:
        """Read the file. If it has changed, it is written with the next batch."""
        try:
            source.path.encode()
            content = _read(source)
        except UnicodeEncodeError:
            path = source.path.encode("utf-8", "backslashreplace").decode()
            self._fail(path, "Its name is not UTF-8. Rename it.")
            return
        except (NotFound, Refused) as error:
            self._fail(source.path, str(error))
            return
        document, version = self._existing.at(source.path)
        sha256 = hashlib.sha256(content).hexdigest()
        if document and document.sha256 == sha256 and self._existing.is_indexed(document):
            self._unchanged.add(source.path)
            self._progress(source.path, "")
            return
        id = document.id if document else self._new_id(source.path)
        read = FileToCut(source, id, content, version, document or self._gone.get(sha256))
        is_careful = self._tries().is_careful
        if self._cutting is None or len(content) > UNLIMITED_BYTES or is_careful or self._writer.model():
            self._draft_cut()  # so that files are written in their order
            self._draft(read)
            return
        for one, cut in self._cutting.add(read, (id, source.path, content)):
            self._draft(one, cut)

    def flush(self) -> None:
        """Embed and write all files that were added."""
        self._draft_cut()
        self._flush()

    def _draft_cut(self) -> None:
        for one, cut in self._cutting.rest() if self._cutting else ():
            self._draft(one, cut)

    def _draft(self, read: FileToCut, cut: "CutDocument | None" = None) -> None:
        path, root, tries, day = read.source.path, read.source.root.id, self._tries(), _day(read.source)
        draft = self._writer.draft(read.id, path, root, read.content, read.version, read.before, tries, cut, day)
        if len(draft.chunks) > BATCH:  # alone, so that it goes on where it was if it is interrupted
            self._flush()
        self._pending.append((read.source, draft))
        self._pending_chunks += max(1, len(draft.chunks))
        if self._pending_chunks >= BATCH:
            self._flush()

    def _flush(self) -> None:
        pending, self._pending, self._pending_chunks = self._pending, [], 0

        def portion(done: int, total: int) -> None:
            if done == total or done * 10 // total > (done - PORTION) * 10 // total:  # at each tenth
                self._progress(pending[0][0].path, f"{done:,} of {total:,} passages")

        embedded = self._writer.embed(self._owner, [draft for _, draft in pending], portion)
        self._embedded += embedded.new_embeddings
        with self._writer.together():
            written = [self._writer.try_write(self._owner, draft) for draft in embedded.drafts]
        for (source, _), draft, outcome in zip(pending, embedded.drafts, written, strict=True):
            match outcome:
                case Document():
                    self._count(draft)
                case Conflict():
                    self._resolve(source, draft)
                case NotFound() | Refused():
                    self._fail(source.path, str(outcome))

    def _resolve(self, source: SourceFile, lost: DocumentDraft) -> None:
        """Write a document whose draft lost a race."""
        try:
            self._count(self._written_again(source, lost))
        except (NotFound, Refused) as error:
            self._fail(source.path, str(error))

    def fail(self, path: str, reason: str) -> None:
        """Count a path that cannot be ingested."""
        self._failed.append(FileFailure(path, reason))

    @freeing()
    def remove(self, document: Document) -> None:
        """Remove a document whose file is gone."""
        self._writer.remove(self._owner, document.id)
        self._removed += 1
        self._gone_paths.append(document.path)

    def has_taken(self, path: str) -> bool:
        """True if it has written the document at this path."""
        return path in self._taken

    def cut_off(self, error: NoSpace, sources: Sequence[SourceFile]) -> NoSpace:
        """The error of a run that a full disk has ended: it tells which of its files are in, and which are not."""
        known = {*self._taken, *self._unchanged, *(one.path for one in self._failed)}
        missing = [source.path for source in sources if source.path not in known]
        there = len(sources) - len(missing) - len(self._failed)
        return NoSpace(
            f"{error.what}. Of {len(sources):,} documents {there:,} are in, and {len(missing):,} are not: "
            + first_names(missing),
            "Free some disk space, then ingest the same again: it goes on from there",
            details={"processed": len(self._taken), "unchanged": len(self._unchanged), "missing": [*missing]},
        )

    def summary(
        self, skipped: tuple[FileFailure, ...], kept: tuple[MissingFolder, ...], left_out: LeftOut = NOTHING_LEFT_OUT
    ) -> IngestSummary:
        """The counts, now that all is done."""
        if self._is_careful is not None:
            self._catalog.end_ingest(self._owner)
        return IngestSummary(
            processed=self._processed,
            unchanged=len(self._unchanged),
            removed=self._removed,
            chunks=self._chunks,
            embedded=self._embedded,
            model=self._writer.model(),
            failed=tuple(self._failed),
            skipped=skipped,
            problems=tuple(self._problems),
            kept=kept,
            left_out=left_out,
            taken=tuple(self._taken),
            gone=tuple(self._gone_paths),
        )

    def _written_again(self, source: SourceFile, lost: DocumentDraft) -> DocumentDraft:
        """The draft that was written after a lost race. The file is read again, so that its last content wins."""
        busy = Refused("Other writers keep changing this document", "Try again when they are done", code="BUSY")
        return self._writer.retry_on_conflict(lambda: self._write_again(source, lost), busy)

    def _write_again(self, source: SourceFile, lost: DocumentDraft) -> DocumentDraft:
        entry = self._catalog.find(self._owner, source.path)
        before = entry.document or lost.document
        content, tries = _read(source), self._tries()
        path, root, day = source.path, source.root.id, _day(source)
        draft = self._writer.draft(entry.id, path, root, content, entry.version, before, tries, changed_on=day)
        draft = self._writer.embed_one(self._owner, draft)
        self._writer.write(self._owner, draft)
        return draft

    def _tries(self) -> "Tries":
        """Careful if an earlier run never came to its end: a document may have stopped it."""
        from loci.documents.content.limited_parser import Tries  # 0.1 s, which a run without changes does not pay

        if self._is_careful is None:
            self._is_careful = self._catalog.begin_ingest(self._owner)
        return Tries(is_careful=self._is_careful)

    def _count(self, draft: DocumentDraft) -> None:
        self._processed += 1
        self._taken.append(draft.document.path)
        self._chunks += len(draft.chunks)
        self._problems += [(draft.document.path, problem) for problem in draft.document.problems]
        self._progress(draft.document.path, "")

    def _fail(self, path: str, reason: str) -> None:
        self.fail(path, reason)
        self._progress(path, "")

    def _new_id(self, path: str) -> str:
        id = next(id for id in ids_for(path) if id not in self._new_ids and not self._existing.has(id))
        self._new_ids.add(id)
        return id


def _day(source: SourceFile) -> str | None:
    return changed_on(source.root.folder, below_root(source.path))


def _read(source: SourceFile) -> bytes:
    content = read_file(source.root.folder, below_root(source.path))
    require_text(source.path, content)
    return content
