"""One ingest in progress: file by file, embedded in batches, then the removals."""

import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.core.errors import Conflict, NoSpace, NotFound, Refused
from loci.core.finding import first_names
from loci.core.full_disk import freeing
from loci.core.identity import Owner
from loci.core.lazy import Lazy
from loci.core.stores import ABSENT
from loci.documents.catalog import Catalog
from loci.documents.content.encodings import require_text
from loci.documents.document import Document, Problem, Root
from loci.documents.document_ids import ids_for
from loci.documents.ingest.index_writer import BATCH, DocumentDraft, IndexWriter
from loci.documents.ingest.local_files import below_root, changed_on, read_file
from loci.documents.ingest.outcome import NOTHING_LEFT_OUT, FileFailure, IngestSummary, LeftOut, MissingFolder
from loci.documents.ingest.partial_embeddings import PORTION

if TYPE_CHECKING:
    from loci.documents.ingest.cutting import CutDocument


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to ingest."""

    path: str
    """The path of its document."""
    root: Root


@dataclass(frozen=True, slots=True)
class FileToCut:
    """A file that has changed, and the document that it will be."""

    source: SourceFile
    id: str
    content: bytes
    version: str
    before: Document | None


class IngestRun:
    """Counts what happens to each file. Call `take` with the files, then `remove`, then `summary`."""

    def __init__(
        self,
        owner: Owner,
        catalog: Catalog,
        writer: IndexWriter,
        known: Mapping[str, tuple[Document, str]],
        has_id: Callable[[str], bool],
        gone: Sequence[Document],
        progress: Callable[[str, str], None],
    ) -> None:
        """`known` are the documents that the library has at these paths, with their versions.

        `gone` are the documents whose files are gone: a new file with the hash of one is that file, moved.
        """
        self._owner = owner
        self._catalog = catalog
        self._writer = writer
        self._known = known
        self._has_id = has_id
        self._gone = {document.sha256: document for document in gone if document.sha256}
        self._indexed = Lazy(lambda: writer.indexed(owner, [document for document, _ in known.values()]))
        self._new_ids = set[str]()
        self._progress = progress
        self._pending: list[tuple[SourceFile, DocumentDraft]] = []
        self._pending_chunks = 0
        self._processed = self._removed = self._chunks = self._embedded = 0
        self._unchanged: set[str] = set()
        self._failed: list[FileFailure] = []
        self._problems: list[tuple[str, Problem]] = []
        self._taken: list[str] = []
        self._gone_paths: list[str] = []

    def take(self, sources: Sequence[SourceFile]) -> None:
        """Read the files, and write those that have changed. Without a model, several processes cut them."""
        try:
            with closing(self._cut(filter(None, map(self._changed, sources)))) as files:
                for read, cut in files:
                    try:
                        self._draft(read, cut)
                    except Refused as error:
                        self._fail(read.source.path, str(error))
            self._flush()
        except NoSpace as error:
            raise self._cut_off(error, sources) from error

    def _changed(self, source: SourceFile) -> FileToCut | None:
        """The file with its content. None if the library has it already, or if it cannot be read."""
        try:
            source.path.encode()
            content = _read(source)
        except UnicodeEncodeError:
            path = source.path.encode("utf-8", "backslashreplace").decode()
            self._fail(path, "Its name is not UTF-8. Rename it.")
            return None
        except (NotFound, Refused) as error:
            self._fail(source.path, str(error))
            return None
        document, version = self._known.get(source.path, (None, ABSENT))
        sha256 = hashlib.sha256(content).hexdigest()
        if document and document.sha256 == sha256 and document.id in self._indexed.get():
            self._unchanged.add(source.path)
            self._progress(source.path, "")
            return None
        id = document.id if document else self._new_id(source.path)
        return FileToCut(source, id, content, version, document or self._gone.get(sha256))

    def _cut(self, files: Iterator[FileToCut]) -> "Generator[tuple[FileToCut, CutDocument | None]]":
        if self._writer.model():
            return ((read, None) for read in files)
        from loci.documents.ingest.cutting import cut_in_parallel  # 0.1 s, which a search does not pay

        return cut_in_parallel(files, lambda read: (read.id, read.source.path, read.content))

    def _draft(self, read: FileToCut, cut: "CutDocument | None" = None) -> None:
        path, root, day = read.source.path, read.source.root.id, _day(read.source)
        draft = self._writer.draft(read.id, path, root, read.content, read.version, read.before, cut, day)
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

    def summary(
        self, skipped: tuple[FileFailure, ...], kept: tuple[MissingFolder, ...], left_out: LeftOut = NOTHING_LEFT_OUT
    ) -> IngestSummary:
        """The counts, now that all is done."""
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

    def _cut_off(self, error: NoSpace, sources: Sequence[SourceFile]) -> NoSpace:
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

    def _written_again(self, source: SourceFile, lost: DocumentDraft) -> DocumentDraft:
        """The draft that was written after a lost race. The file is read again, so that its last content wins."""
        busy = Refused("Other writers keep changing this document", "Try again when they are done", code="BUSY")
        return self._writer.retry_on_conflict(lambda: self._write_again(source, lost), busy)

    def _write_again(self, source: SourceFile, lost: DocumentDraft) -> DocumentDraft:
        entry = self._catalog.find(self._owner, source.path)
        before = entry.document or lost.document
        content = _read(source)
        path, root, day = source.path, source.root.id, _day(source)
        draft = self._writer.draft(entry.id, path, root, content, entry.version, before, changed_on=day)
        draft = self._writer.embed_one(self._owner, draft)
        self._writer.write(self._owner, draft)
        return draft

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
        id = next(id for id in ids_for(path) if id not in self._new_ids and not self._has_id(id))
        self._new_ids.add(id)
        return id


def _day(source: SourceFile) -> str | None:
    return changed_on(source.root.folder, below_root(source.path))


def _read(source: SourceFile) -> bytes:
    content = read_file(source.root.folder, below_root(source.path))
    require_text(source.path, content)
    return content
