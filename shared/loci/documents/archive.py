"""Documents as an archive has them: with what is known of them, and with the texts that tools replaced."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

from loci.core.errors import Conflict, LociError, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.stores import BlobStore, WriteLocks, lost_race
from loci.documents.catalog import Catalog
from loci.documents.content.encodings import require_text
from loci.documents.document import LOCK_WAIT_SECONDS, Document
from loci.documents.document_ids import ids_for, lock_name
from loci.documents.ingest.index_writer import DocumentDraft, IndexWriter
from loci.documents.ingest.local_files import MAX_DOCUMENT_BYTES, blob_key, checked_path, file_of
from loci.documents.ingest.outcome import FileFailure
from loci.documents.library import Library
from loci.documents.writing.deletions import DeletedDocument, Deletions
from loci.documents.writing.history import History, PastWrite, hash_of

PAGE = 500


@dataclass(frozen=True, slots=True)
class ArchivedDocument:
    """A document that comes back."""

    document: Document
    """The document as it was known. What its text says is read out of the text again."""
    text: bytes
    history: tuple[PastWrite, ...] = ()


class DocumentArchive:
    """Gives documents with their histories, and takes them back."""

    def __init__(
        self,
        catalog: Catalog,
        library: Library,
        writer: IndexWriter,
        blobs: BlobStore,
        locks: WriteLocks,
        deletions: Deletions,
    ) -> None:
        self._catalog = catalog
        self._library = library
        self._writer = writer
        self._blobs = blobs
        self._locks = locks
        self._deletions = deletions
        self._history = History(blobs)

    def documents(self, owner: Owner, after: str | None) -> Iterator[tuple[Document, bytes | None] | FileFailure]:
        """All documents behind that id, in the order of their ids; the text too, if it had to be read."""
        while True:
            page, after = self._catalog.page(owner, PAGE, after)
            for one in page:
                if one.root is None and one.sha256:
                    yield one, None
                    continue
                try:
                    yield one, self._library.content(owner, one)
                except (NotFound, Refused) as error:
                    yield FileFailure(one.path, str(error))
            if after is None:
                return

    def text(self, owner: Owner, id: str) -> bytes:
        """The text of the document with this id."""
        return self._library.content(owner, self._library.get(owner, id))

    def deleted(self, owner: Owner) -> list[DeletedDocument]:
        """The documents without a file that tools deleted."""
        return self._deletions.every(owner)

    def is_deleted(self, owner: Owner, path: str) -> bool:
        """True if it is known that a tool deleted the document at this path."""
        return self._deletions.find(owner, path) is not None

    def histories(self, owner: Owner) -> Callable[[str], list[PastWrite]]:
        """Tells the history of a document by its path. The places of all are looked up once."""
        return self._history.all(owner)

    def history(self, owner: Owner, path: str) -> list[PastWrite]:
        """The history of one document."""
        return self._history.of(owner, path)

    def get(self, owner: Owner, id: str) -> Document | None:
        """The document with this id."""
        return self._catalog.document(owner, id)

    def find(self, owner: Owner, path: str) -> Document | None:
        """The document at this path."""
        return self._catalog.find(owner, path).document

    def hash_now(self, owner: Owner, document: Document) -> str | None:
        """The hash of the text as it is now. None if it is gone."""
        if document.root is None and document.sha256:
            return document.sha256
        with suppress(NotFound, Refused):
            return hash_of(self._library.content(owner, document))
        return None

    def folder_with(self, owner: Owner, path: str) -> str | None:
        """The file of this machine that this path would name, if its folder is one of this machine."""
        first = path.partition("/")[0]
        roots = self._catalog.roots(owner).values()
        return next((file_of(path, one) for one in roots if one.name == first), None)

    def restore(self, owner: Owner, some: Sequence[ArchivedDocument]) -> list[LociError | None]:
        """Write documents whose paths are free. Returns the error of each that could not be written."""
        drafts: list[DocumentDraft | LociError] = [self._draft(owner, one) for one in some]
        ready = [one for one in drafts if isinstance(one, DocumentDraft)]
        embedded = iter(self._writer.embed(owner, ready).drafts if ready else ())
        errors: list[LociError | None] = []
        with ExitStack() as locks:
            busy = self._lock(owner, [one.document.path for one in some], locks)
            with self._writer.together():
                for one, draft in zip(some, drafts, strict=True):
                    if isinstance(draft, LociError):
                        errors.append(draft)
                        continue
                    embedded_draft = next(embedded)
                    path = one.document.path
                    errors.append(busy.get(lock_name(path)) or self._put(owner, one, embedded_draft))
        return errors

    def restore_deleted(self, owner: Owner, deleted: DeletedDocument, history: Sequence[PastWrite]) -> None:
        """Note that a document was deleted, so that this can be undone."""
        checked_path(deleted.path)
        self._history.restore(owner, deleted.path, history)
        self._deletions.keep(owner, deleted)

    def _draft(self, owner: Owner, one: ArchivedDocument) -> DocumentDraft | LociError:
        known, text = one.document, one.text
        try:
            if checked_path(known.path) != known.path:
                raise Refused(f"{known.path!r} is not a path of a document", "Write it plainly", code="BAD_PATH")
            require_text(known.path, text)
            if len(text) > MAX_DOCUMENT_BYTES:
                raise Refused(f"{known.path} is larger than 10 MB", "Split it", code="FILE_TOO_LARGE")
            entry = self._catalog.find(owner, known.path)
            if entry.document is not None:
                raise lost_race("document")
            id, version = self._own_id(owner, known, entry.id, entry.version)
        except LociError as error:
            return error
        draft = self._writer.draft(id, known.path, None, text, version, None, changed_on=known.changed_on)
        document = replace(
            draft.document,
            ingested_at=known.ingested_at or draft.document.ingested_at,
            former=known.former,
            written_at=known.written_at,
            uploaded_sha256=known.uploaded_sha256,
            written_by_tool=known.written_by_tool,
        )
        return replace(draft, document=document)

    def _own_id(self, owner: Owner, known: Document, free: str, version: str) -> tuple[str, str]:
        """The id that the document had, if a document at its path can have it and none has it here."""
        if known.id != free and known.id in ids_for(known.path):
            held, at = self._catalog.with_version(owner, known.id)
            if held is None:
                return known.id, at
        return free, version

    def _lock(self, owner: Owner, paths: Sequence[str], locks: ExitStack) -> dict[str, Unavailable]:
        """Take the locks of all, in one order, so that two who do that never wait for each other."""
        busy: dict[str, Unavailable] = {}
        for name in sorted({lock_name(path) for path in paths}):
            if not locks.enter_context(self._locks.take(owner, name, LOCK_WAIT_SECONDS)):
                busy[name] = Unavailable("Somebody else writes this document", "Try again in a minute", code="BUSY")
        return busy

    def _put(self, owner: Owner, one: ArchivedDocument, draft: DocumentDraft) -> LociError | None:
        """History and text come first: whoever sees the record finds them."""
        document = draft.document
        if self._catalog.with_version(owner, document.id)[1] != draft.version:
            return lost_race("document")
        self._history.restore(owner, document.path, one.history)
        self._blobs.write(owner, blob_key(document.id), one.text)
        written = self._writer.try_write(owner, draft)
        if isinstance(written, NotFound | Refused | Conflict):
            return written
        self._deletions.end(owner, document.path)
        self._catalog.refused.end(owner, document.path)
        return None
