"""The texts that Loci keeps itself, compared with the hashes of what it wrote. Files are not: people edit them."""

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.stores import CONTENT_DAMAGED, BlobStore
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.ingest.local_files import blob_key
from loci.documents.writing.history import History, hash_of
from loci.documents.writing.write_journal import WriteJournal

ATTEMPTS = 10
"""To read a text that others keep writing."""


class WholeTexts:
    """Reads texts, and refuses those that something other than Loci changed: a disk that fails, for example."""

    def __init__(self, catalog: Catalog, blobs: BlobStore) -> None:
        self._catalog = catalog
        self._blobs = blobs
        self._journal = WriteJournal(catalog.records)
        self._history = History(blobs)

    def read(self, owner: Owner, document: Document) -> bytes:
        """The text of a document without a file. `Refused` if it is damaged."""
        content = b""
        for _ in range(ATTEMPTS):
            try:
                content = self._blobs.read(owner, blob_key(document.id))
            except NotFound:
                advice = f"If it was just removed, all is well. {self._advice(owner, document, 'delete_document')}"
                what = f"The stored text of {document.path} is gone"
                raise NotFound(what, advice, code="CONTENT_NOT_FOUND") from None
            if document.sha256 in ("", hash_of(content)) or self._is_being_written(owner, document.path):
                return content
            now = self._catalog.document(owner, document.id)
            if now == document:
                raise self._damaged(owner, document, content)
            if now is None:
                return content
            document = now
        return content

    def expect(self, owner: Owner, path: str, content: bytes | None) -> None:
        """Raise `Refused` if this text of the document at the path is damaged. The caller holds its write lock."""
        document = self._catalog.find(owner, path).document if content is not None else None
        if document is None or document.root is not None or document.sha256 in ("", hash_of(content)):
            return
        if not self._is_being_written(owner, path):
            raise self._damaged(owner, document, content or b"")

    def _is_being_written(self, owner: Owner, path: str) -> bool:
        """True if a tool writes the text, or was interrupted: then its record comes later."""
        return any(one.move or one.path == path for one in self._journal.unfinished(owner))

    def _damaged(self, owner: Owner, document: Document, content: bytes) -> Refused:
        what = f"The stored text of {document.path} is damaged: it is not what was written. Its hash is now"
        advice = self._advice(owner, document, "delete_document and that hash")
        return Refused(f"{what} {hash_of(content)}", advice, code=CONTENT_DAMAGED)

    def _advice(self, owner: Owner, document: Document, removal: str) -> str:
        past = self._history.of(owner, document.path)
        advice = f"Restore it from a backup, or remove it with {removal}, and write it anew"
        if past and past[-1].before is not None:
            advice = f"undo_write puts back its text from before {past[-1].by} at {past[-1].at}. {advice}"
        return advice
