"""The texts that Loci keeps itself: marks for texts that are being written, and checks of whether one is intact."""

from dataclasses import dataclass

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject, string
from loci.core.stores import CONTENT_DAMAGED, BlobStore, Record, RecordStore, every, readable
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.history import History, hash_of
from loci.documents.ingest.local_files import blob_key

UNFINISHED = "unfinished"
ATTEMPTS = 10
"""The most attempts to read a text that others keep writing."""


@dataclass(frozen=True, slots=True)
class UnfinishedWrite:
    """The note that a document is being written: it is made before, and removed after it."""

    path: str
    root: str | None
    """The id of the root that its file lies in; None if its text is a blob."""
    move: str | None = None
    """The id of the move to this path. It is finished as a whole."""

    @property
    def key(self) -> str:
        return content_id(f"move {self.move}" if self.move else self.path, length=32)


@dataclass(frozen=True, slots=True)
class WriteJournal:
    """The unfinished writes of each owner."""

    records: RecordStore

    def begin(self, owner: Owner, path: str, root: str | None, move: str | None = None) -> UnfinishedWrite:
        """Note that the document is going to be written, or moved."""
        write = UnfinishedWrite(path, root, move)
        value: JsonObject = {"path": path, "root": root, **({"move": move} if move else {})}
        self.records.put(owner, UNFINISHED, write.key, value)
        return write

    def end(self, owner: Owner, write: UnfinishedWrite) -> None:
        """Remove the note: the write is finished, or it has failed without changing anything."""
        self.records.remove(owner, UNFINISHED, write.key)

    def is_unfinished(self, owner: Owner, write: UnfinishedWrite) -> bool:
        """True if the document still has a note."""
        return self.records.get(owner, UNFINISHED, write.key) is not None

    def unfinished(self, owner: Owner) -> list[UnfinishedWrite]:
        """All writes that are not finished."""
        return list(readable(every(self.records, owner, UNFINISHED), unfinished_write))


def unfinished_write(record: Record) -> UnfinishedWrite:
    """The unfinished write of a record."""
    root, move = record.value["root"], record.value.get("move")
    return UnfinishedWrite(
        string(record.value["path"]), None if root is None else string(root), None if move is None else string(move)
    )


@dataclass(frozen=True, slots=True)
class WholeTexts:
    """Reads the texts that Loci keeps itself, and refuses texts that something else changed, such as a failing disk.

    Files are not compared with the hash of what was written: people edit them.
    """

    catalog: Catalog
    blobs: BlobStore

    def read(self, owner: Owner, document: Document) -> bytes:
        """The text of a document without a file. `Refused` if it is damaged."""
        content = b""
        for _ in range(ATTEMPTS):
            try:
                content = self.blobs.read(owner, blob_key(document.id))
            except NotFound:
                advice = f"If it was just removed, all is well. {self._advice(owner, document, 'delete_document')}"
                what = f"The stored text of {document.path} is gone"
                raise NotFound(what, advice, code="CONTENT_NOT_FOUND") from None
            if self._is_whole(owner, document, content):
                return content
            now = self.catalog.document(owner, document.id)
            if now == document:
                raise self._damaged(owner, document, content)
            if now is None:
                return content
            document = now
        return content

    def expect(self, owner: Owner, path: str, content: bytes | None) -> None:
        """Raise `Refused` if this text of the document at the path is damaged. The caller holds its write lock."""
        document = self.catalog.find(owner, path).document
        if content is not None and document and document.root is None and not self._is_whole(owner, document, content):
            raise self._damaged(owner, document, content)

    def _is_whole(self, owner: Owner, document: Document, content: bytes) -> bool:
        """True if the text is intact, or a tool writes it or was interrupted: then its record comes later."""
        if document.sha256 in ("", hash_of(content)):
            return True
        return any(
            one.move or one.path == document.path for one in WriteJournal(self.catalog.records).unfinished(owner)
        )

    def _damaged(self, owner: Owner, document: Document, content: bytes) -> Refused:
        what = f"The stored text of {document.path} is damaged: it is not what was written. Its hash is now"
        advice = self._advice(owner, document, "delete_document and that hash")
        return Refused(f"{what} {hash_of(content)}", advice, code=CONTENT_DAMAGED)

    def _advice(self, owner: Owner, document: Document, removal: str) -> str:
        past = History(self.blobs).writes(owner, document.path)
        advice = f"Restore it from a backup, or remove it with {removal}, and write it anew"
        if past and past[-1].before is not None:
            advice = f"undo_write puts back its text from before {past[-1].by} at {past[-1].at}. {advice}"
        return advice
