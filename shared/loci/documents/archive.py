"""Documents that come out of an archive: written back with their records, and with their earlier texts."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

from loci.core.errors import Conflict, LociError, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.stores import BlobStore, WriteLocks, lost_race
from loci.core.trust import few
from loci.documents.catalog import Catalog
from loci.documents.document import LOCK_WAIT_SECONDS, Document, ids_for, lock_name
from loci.documents.history import History, PastWrite, hash_of
from loci.documents.ingest.index_writer import DocumentDraft, IndexWriter
from loci.documents.ingest.local_files import MAX_DOCUMENT_BYTES, blob_key, file_of
from loci.documents.library import Library
from loci.documents.vacant_paths import DeletedDocument, Deletions
from loci.markdown.encodings import require_text


@dataclass(frozen=True, slots=True)
class ArchivedDocument:
    """A document that comes back."""

    document: Document
    """The document as it was known. Whatever its text says is read out of the text again."""
    text: bytes
    history: tuple[PastWrite, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentArchive:
    """Writes documents back, and reads what is at their paths now."""

    catalog: Catalog
    library: Library
    writer: IndexWriter
    blobs: BlobStore
    locks: WriteLocks

    def text(self, owner: Owner, document: Document) -> bytes:
        """The text of a document, also of one in a folder. Raises `NotFound` or `Refused`."""
        return self.library.content(owner, document)

    def hash_at(self, owner: Owner, path: str) -> str | None:
        """The hash of the document at this path; empty if its text is gone. None if there is no document."""
        document = self.catalog.find(owner, path).document
        if document is None or (document.root is None and document.sha256):
            return document and document.sha256
        with suppress(NotFound, Refused):
            return hash_of(self.library.content(owner, document))
        return ""

    def file_at(self, owner: Owner, path: str) -> str | None:
        """The file of this machine that this path would name, if its folder is one of this machine."""
        first = path.partition("/")[0]
        roots = self.catalog.roots(owner).values()
        return next((file_of(path, one) for one in roots if one.name == first), None)

    def is_deleted(self, owner: Owner, path: str) -> bool:
        """True if it is known that a tool deleted the document at this path."""
        return Deletions(self.catalog.records).find(owner, path) is not None

    def restore(self, owner: Owner, some: Sequence[ArchivedDocument]) -> list[LociError | None]:
        """Write documents whose paths are free. Returns the error of each that could not be written."""
        drafts = [self._draft(owner, one) for one in some]
        ready = [one for one in drafts if isinstance(one, DocumentDraft)]
        embedded = iter(self.writer.embed(owner, ready).drafts if ready else ())
        errors: list[LociError | None] = []
        with ExitStack() as locks:
            # In one order, so that two imports never wait for each other.
            names = sorted({lock_name(one.document.path) for one in some})
            held = {name for name in names if locks.enter_context(self.locks.take(owner, name, LOCK_WAIT_SECONDS))}
            with self.writer.together():
                for one, draft in zip(some, drafts, strict=True):
                    error = draft if isinstance(draft, LociError) else self._put(owner, one, next(embedded), held)
                    errors.append(error)
        return errors

    def restore_deleted(self, owner: Owner, deleted: DeletedDocument, history: Sequence[PastWrite]) -> None:
        """Note that a document was deleted, so that this can be undone."""
        History(self.blobs).restore(owner, deleted.path, history)
        Deletions(self.catalog.records).keep(owner, deleted)

    def _draft(self, owner: Owner, one: ArchivedDocument) -> DocumentDraft | LociError:
        known, text = one.document, one.text
        try:
            require_text(known.path, text)
            if len(text) > MAX_DOCUMENT_BYTES:
                raise Refused(f"{known.path} is larger than 10 MB", "Split it", code="FILE_TOO_LARGE")
            entry = self.catalog.find(owner, known.path)
            if entry.document is not None:
                raise lost_race("document")
        except LociError as error:
            return error
        id, version = entry.id, entry.version
        if known.id != id and known.id in ids_for(known.path):  # the id that clients know, if it is free
            held, at = self.catalog.with_version(owner, known.id)
            id, version = (known.id, at) if held is None else (id, version)
        draft = self.writer.draft(id, known.path, None, text, version, None, changed_on=known.changed_on)
        document = replace(
            draft.document,
            ingested_at=known.ingested_at or draft.document.ingested_at,
            former=known.former,
            written_at=known.written_at,
            uploaded_sha256=known.uploaded_sha256,
            written_by_tool=known.written_by_tool,
            trust=known.trust,
            sources=few(known.sources),
            date_from=draft.document.date_from or ("git" if known.date_from == "git" else None),
        )
        return replace(draft, document=document)

    def _put(self, owner: Owner, one: ArchivedDocument, draft: DocumentDraft, held: set[str]) -> LociError | None:
        """Write history and text first: a reader that sees the record finds them."""
        document = draft.document
        if lock_name(document.path) not in held:
            return Unavailable("Somebody else writes this document", "Try again in a minute", code="BUSY")
        if self.catalog.with_version(owner, document.id)[1] != draft.version:
            return lost_race("document")
        History(self.blobs).restore(owner, document.path, one.history)
        self.blobs.write(owner, blob_key(document.id), one.text)
        written = self.writer.try_write(owner, draft)
        if isinstance(written, NotFound | Refused | Conflict):
            return written
        Deletions(self.catalog.records).end(owner, document.path)
        self.catalog.refused.end(owner, document.path)
        return None
