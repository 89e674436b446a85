"""An ingest in progress: file by file, embedded in batches, then the removals."""

import hashlib
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from loci.core.diagnosis import first_names
from loci.core.errors import Conflict, NoSpace, NotFound, Refused
from loci.core.full_disk import freeing
from loci.core.identity import Owner
from loci.core.lazy import Lazy
from loci.core.stores import ABSENT
from loci.documents.catalog import Catalog
from loci.documents.document import Document, FileStamp, Root, ids_for
from loci.documents.ingest.index_writer import BATCH, PORTION, DocumentDraft, IndexWriter, Progress, no_progress
from loci.documents.ingest.local_files import below_root, file_of, read_file, stamp_of
from loci.documents.ingest.outcome import FileFailure, IngestSummary
from loci.markdown.encodings import require_text

if TYPE_CHECKING:
    from loci.documents.ingest.cutting import CutDocument

WORDS_AT_ONCE = 1024
"""Chunks of one transaction if there is no model: FTS5 then merges fewer, longer lists of words."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to ingest."""

    path: str
    """The path of its document."""
    root: Root
    seen: FileStamp | None = None
    """The stamp that the file had a moment ago, if it is known."""

    def read(self) -> bytes:
        """The content of the file. `Refused` if it is no text."""
        content = read_file(self.root.folder, below_root(self.path))
        require_text(self.path, content)
        return content

    def stamp(self, now: float) -> FileStamp | None:
        """The stamp of the file, at the latest of now. None if it may change without a new one, or cannot be looked at.

        With a stamp from before a change, a text is read once more than it needs.
        """
        try:
            return self.seen or stamp_of(os.lstat(file_of(self.path, self.root)), now)
        except OSError:
            return None


@dataclass(frozen=True, slots=True)
class FileToCut:
    """A file that has changed, and the document that it will be."""

    source: SourceFile
    id: str
    content: bytes
    version: str
    before: Document | None
    stamp: FileStamp | None


class IngestRun:
    """Counts the outcome of each file. Call `write_changed` with the files, then `remove`."""

    def __init__(
        self,
        owner: Owner,
        catalog: Catalog,
        writer: IndexWriter,
        known: Mapping[str, tuple[Document, str]],
        has_id: Callable[[str], bool],
        gone: Sequence[Document],
        progress: Progress = no_progress,
    ) -> None:
        """`known` are the documents that the library has at these paths, with their versions.

        `gone` are the documents whose files are gone: a new file with the hash of one is that file, moved.
        """
        self.summary = IngestSummary(model=writer.model())
        self._owner = owner
        self._catalog = catalog
        self._writer = writer
        self._known = known
        self._has_id = has_id
        self._gone = {document.sha256: document for document in gone if document.sha256}
        self._indexed = Lazy(lambda: writer.indexed(owner, [document for document, _ in known.values()]))
        self._new_ids = set[str]()
        self._progress = progress
        self._done, self._total = set[str](), 0
        self._pending: list[tuple[SourceFile, DocumentDraft]] = []
        self._pending_chunks = 0
        self.stamped: list[tuple[Document, str]] = []
        """Unchanged documents of files with a new stamp, with the versions of their records."""

    def write_changed(self, sources: Sequence[SourceFile]) -> None:
        """Read the files, and write the changed ones. Without a model, several processes cut them."""
        self._total = len(sources)
        try:
            with closing(self._cut(filter(None, map(self._changed, sources)))) as files:
                for read, cut in files:
                    try:
                        draft = self._draft(read, cut)
                    except Refused as error:
                        self._fail(read.source.path, str(error))
                    else:
                        self._add(read.source, draft)
            self._flush()
        except NoSpace as error:
            raise self._cut_off(error, sources) from error

    @freeing()
    def remove(self, document: Document) -> None:
        """Remove a document whose file is gone."""
        self._writer.remove(self._owner, document.id)
        self.summary.gone.append(document.path)

    def _changed(self, source: SourceFile) -> FileToCut | None:
        """The file with its content. None if the library has it already, or if it cannot be read."""
        document, version = self._known.get(source.path, (None, ABSENT))
        stamp = source.stamp(self._writer.clock())
        if document and stamp and document.stamp == stamp and document.id in self._indexed.get():
            return self._unchanged(source)
        try:
            source.path.encode()
            content = source.read()
        except UnicodeEncodeError:
            path = source.path.encode("utf-8", "backslashreplace").decode()
            self._fail(path, "Its name is not UTF-8. Rename it.")
            return None
        except (NotFound, Refused) as error:
            self._fail(source.path, str(error))
            return None
        sha256 = hashlib.sha256(content).hexdigest()
        if document and document.sha256 == sha256 and document.id in self._indexed.get():
            if stamp and document.stamp != stamp:
                self.stamped.append((replace(document, stamp=stamp), version))
            return self._unchanged(source)
        id = document.id if document else self._new_id(source.path)
        return FileToCut(source, id, content, version, document or self._gone.get(sha256), stamp)

    def _unchanged(self, source: SourceFile) -> None:
        self.summary.unchanged += 1
        self._tell_done(source.path)

    def _cut(self, files: Iterator[FileToCut]) -> "Generator[tuple[FileToCut, CutDocument | None]]":
        if self._writer.model():
            yield from ((read, None) for read in files)
        elif first := next(files, None):
            from loci.documents.ingest.cutting import cut_in_parallel  # 0.1 s, which only a changed file pays

            items = chain((first,), files)
            yield from cut_in_parallel(items, lambda read: (read.id, read.source.path, read.content))

    def _draft(self, read: FileToCut, cut: "CutDocument | None" = None) -> DocumentDraft:
        path, root = read.source.path, read.source.root
        return self._writer.draft(
            read.id, path, root.id, read.content, read.version, read.before, cut, folder=root.folder, stamp=read.stamp
        )

    def _add(self, source: SourceFile, draft: DocumentDraft) -> None:
        """Add to the next batch. A long document is one by itself, and goes on where it was if it is interrupted."""
        if len(draft.chunks) > BATCH:
            self._flush()
        self._pending.append((source, draft))
        self._pending_chunks += max(1, len(draft.chunks))
        if self._pending_chunks >= (BATCH if self.summary.model else WORDS_AT_ONCE):
            self._flush()

    def _flush(self) -> None:
        pending, self._pending, self._pending_chunks = self._pending, [], 0
        if not pending:
            return

        def portion(done: int, total: int) -> None:
            if done == total or done * 10 // total > (done - PORTION) * 10 // total:  # at each tenth
                self._progress(len(self._done), self._total, pending[0][0].path, f"{done:,} of {total:,} passages")

        written, new_embeddings = self._writer.write_all(self._owner, [draft for _, draft in pending], portion)
        self.summary.embedded += new_embeddings
        for (source, _), (draft, outcome) in zip(pending, written, strict=True):
            if isinstance(outcome, Conflict):  # another writer was first
                self._write_again(source, draft)
            elif isinstance(outcome, Document):
                self._count(draft)
            else:
                self._fail(source.path, str(outcome))

    def _write_again(self, source: SourceFile, lost: DocumentDraft) -> None:
        """Write a document whose draft lost a race. The file is read again, so that its last content wins."""

        def write() -> DocumentDraft:
            entry = self._catalog.find(self._owner, source.path)
            before = entry.document or lost.document
            stamp = source.stamp(self._writer.clock())
            draft = self._draft(FileToCut(source, entry.id, source.read(), entry.version, before, stamp))
            draft = self._writer.embed_one(self._owner, draft)
            self._writer.write(self._owner, draft)
            return draft

        busy = Refused("Other writers keep changing this document", "Try again when they are done", code="BUSY")
        try:
            self._count(self._writer.retry_on_conflict(write, busy))
        except (NotFound, Refused) as error:
            self._fail(source.path, str(error))

    def _count(self, draft: DocumentDraft) -> None:
        path, summary = draft.document.path, self.summary
        summary.taken.append(path)
        summary.chunks += len(draft.chunks)
        summary.problems += [(path, problem) for problem in draft.document.problems]
        self._tell_done(path)

    def _fail(self, path: str, reason: str) -> None:
        self.summary.failed.append(FileFailure(path, reason))
        self._tell_done(path)

    def _tell_done(self, path: str) -> None:
        self._done.add(path)
        self._progress(len(self._done), self._total, path)

    def _cut_off(self, error: NoSpace, sources: Sequence[SourceFile]) -> NoSpace:
        """The error of a run that a full disk has ended: it counts the documents that are in, and the others."""
        missing, summary = [one.path for one in sources if one.path not in self._done], self.summary
        there = len(summary.taken) + summary.unchanged
        return NoSpace(
            f"{error.what}. Of {len(sources):,} documents {there:,} are in, and {len(missing):,} are not: "
            + first_names(missing),
            "Free some disk space, then ingest the same again: it goes on from there",
            details={"processed": len(summary.taken), "unchanged": summary.unchanged, "missing": [*missing]},
        )

    def _new_id(self, path: str) -> str:
        id = next(id for id in ids_for(path) if id not in self._new_ids and not self._has_id(id))
        self._new_ids.add(id)
        return id
