"""Documents without a file that a tool deleted or moved: the same upload does not bring them back."""

from dataclasses import dataclass
from typing import Final

from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject, string
from loci.core.stores import Record, RecordStore, every, read_or_none, readable
from loci.documents.document import Document

DELETED: Final = "deleted"


class StaysDeletedError(Refused):
    """The upload is the one whose document a tool deleted."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"A tool deleted {path}, and this is the same upload",
            "To have it back, call undo_write, or upload another text",
            code="STAYS_DELETED",
        )


@dataclass(frozen=True, slots=True)
class DeletedDocument:
    """A document that was deleted."""

    path: str
    sha256: str | None
    """The hash of its upload. None: only tools wrote it."""
    at: str


class Deletions:
    """The deleted documents of each owner, by path."""

    def __init__(self, records: RecordStore) -> None:
        self._records = records

    def note(self, owner: Owner, document: Document, at: str) -> None:
        """Note before the document goes that its upload is not to bring it back. Nothing, if it has a file."""
        if document.root is None:
            self.keep(owner, DeletedDocument(document.path, document.uploaded_sha256, at))

    def keep(self, owner: Owner, deleted: DeletedDocument) -> None:
        """Keep what is known of a deleted document."""
        value: JsonObject = {"path": deleted.path, "sha256": deleted.sha256, "at": deleted.at}
        self._records.put(owner, DELETED, _key(deleted.path), value)

    def find(self, owner: Owner, path: str) -> DeletedDocument | None:
        """The deleted document at that path, if there is one."""
        return read_or_none(self._records.get(owner, DELETED, _key(path)), deleted_document)

    def every(self, owner: Owner) -> list[DeletedDocument]:
        """All of them."""
        return list(readable(every(self._records, owner, DELETED), deleted_document))

    def end(self, owner: Owner, path: str) -> None:
        """Forget it: the path has a document again, or the upload is gone, too."""
        self._records.remove(owner, DELETED, _key(path))


def deleted_document(record: Record) -> DeletedDocument:
    """The deleted document of a record."""
    sha256 = record.value["sha256"]
    return DeletedDocument(
        string(record.value["path"]), None if sha256 is None else string(sha256), string(record.value["at"])
    )


def _key(path: str) -> str:
    return content_id(path, length=32)
