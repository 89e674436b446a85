"""One ingestion on its way: file by file, embedded in batches, then what is gone."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from loci.core.errors import Conflict, NotFound, Refused
from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Document, FileFailure, KeptDocument, Problem, Root, Summary
from loci.documents.document_ids import ids_for
from loci.documents.ingest.existing_documents import ExistingDocuments
from loci.documents.ingest.index_writer import DocumentDraft, IndexWriter
from loci.documents.ingest.read_file import read_file
from loci.documents.ingest.roots import below_root

BATCH = 128
"""Chunks that are embedded together."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file that is a document."""

    path: str
    """As people know it."""
    root: Root


class IngestRun:
    """What was done so far. Each file is taken once; then come `flush` and `removed`, then the summary."""

    def __init__(
        self,
        owner: Owner,
        catalog: Catalog,
        writer: IndexWriter,
        known: ExistingDocuments,
        gone: Mapping[str, Document],
        progress: Callable[[str], None],
    ) -> None:
        self._owner = owner
        self._catalog = catalog
        self._writer = writer
        self._known = known
        self._gone = gone
        self._given = set[str]()
        self._progress = progress
        self._pending: list[tuple[Source, DocumentDraft]] = []
        self._waiting = 0
        self._processed = self._unchanged = self._removed = self._chunks = self._embedded = 0
        self._failed: list[FileFailure] = []
        self._problems: list[tuple[str, Problem]] = []

    def take(self, source: Source) -> None:
        """Look at the file; where it is as it was, that is all."""
        try:
            source.path.encode()
            content = _read(source)
        except UnicodeEncodeError:
            self._fail(source.path.encode("utf-8", "backslashreplace").decode(), "Its name is not UTF-8. Rename it.")
            return
        except (NotFound, Refused) as error:
            self._fail(source.path, str(error))
            return
        document, version = self._known.at(source.path)
        sha256 = hashlib.sha256(content).hexdigest()
        if document and document.sha256 == sha256 and self._writer.is_current(document):
            self._unchanged += 1
            self._progress(source.path)
            return
        draft = self._writer.draft(
            document.id if document else self._new_id(source.path),
            source.path,
            source.root.id,
            content,
            version,
            document or self._gone.get(sha256),
        )
        self._pending.append((source, draft))
        self._waiting += max(1, len(draft.chunks))
        if self._waiting >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what was taken."""
        pending, self._pending, self._waiting = self._pending, [], 0
        embedded = self._writer.embed(self._owner, [draft for _, draft in pending])
        self._embedded += embedded.made
        for (source, _), draft in zip(pending, embedded.drafts, strict=True):
            try:
                self._done(self._written(source, draft))
            except (NotFound, Refused) as error:
                self._fail(source.path, str(error))

    def fail(self, path: str, reason: str) -> None:
        """Count what cannot be taken."""
        self._failed.append(FileFailure(path, reason))

    def remove(self, document: Document) -> None:
        """Take out a document whose file is gone."""
        self._writer.remove(self._owner, document.id)
        self._removed += 1

    def summary(self, skipped: tuple[FileFailure, ...], kept: tuple[KeptDocument, ...]) -> Summary:
        """What was done."""
        return Summary(
            processed=self._processed,
            unchanged=self._unchanged,
            removed=self._removed,
            chunks=self._chunks,
            embedded=self._embedded,
            model=self._writer.model(),
            failed=tuple(self._failed),
            skipped=skipped,
            problems=tuple(self._problems),
            kept=kept,
        )

    def _written(self, source: Source, draft: DocumentDraft) -> DocumentDraft:
        """What was written in the end: who loses a race looks at the file again, so that the last one writes it."""
        try:
            self._writer.write(self._owner, draft)
        except Conflict:
            busy = Refused("Others write it all the time", "Try again when they are done", code="BUSY")
            return self._writer.insist(lambda: self._again(source, draft), busy)
        return draft

    def _again(self, source: Source, lost: DocumentDraft) -> DocumentDraft:
        known = self._catalog.find(self._owner, source.path)
        before = known.document or lost.document
        draft = self._writer.draft(known.id, source.path, source.root.id, _read(source), known.version, before)
        draft = self._writer.embed_one(self._owner, draft)
        self._writer.write(self._owner, draft)
        return draft

    def _done(self, draft: DocumentDraft) -> None:
        self._processed += 1
        self._chunks += len(draft.chunks)
        self._problems += [(draft.document.path, problem) for problem in draft.document.problems]
        self._progress(draft.document.path)

    def _fail(self, path: str, reason: str) -> None:
        self.fail(path, reason)
        self._progress(path)

    def _new_id(self, path: str) -> str:
        id = next(id for id in ids_for(path) if id not in self._given and not self._known.has(id))
        self._given.add(id)
        return id


def _read(source: Source) -> bytes:
    return read_file(source.root.folder, below_root(source.path))
