"""Paths that have an upload and no document: it was refused, or a tool deleted or moved its document."""

from dataclasses import dataclass
from typing import Final

from loci.core.errors import LociError, Refused
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject, string
from loci.core.stores import Record, RecordStore, every, read_or_none, readable
from loci.documents.document import Document

REFUSED: Final = "refused"
DELETED: Final = "deleted"


@dataclass(frozen=True, slots=True)
class RefusedUploads:
    """The reasons of each owner's refused uploads, by path, until the path has another upload or none."""

    records: RecordStore

    def note(self, owner: Owner, path: str, error: LociError) -> None:
        """Keep the reason."""
        value = {"path": path, "what": error.what, "resolution": error.resolution, "code": error.code}
        self.records.put(owner, REFUSED, _key(path), {**value}, durable=False)

    def find(self, owner: Owner, path: str) -> Refused | None:
        """The reason why the upload at that path is no document, if there is one."""
        return read_or_none(self.records.get(owner, REFUSED, _key(path)), refusal_of)

    def paths(self, owner: Owner) -> list[str]:
        """The paths of all refused uploads."""
        return list(readable(every(self.records, owner, REFUSED), lambda one: string(one.value["path"])))

    def end(self, owner: Owner, path: str) -> None:
        """Forget the reason: the upload was replaced or removed."""
        if self.records.get(owner, REFUSED, _key(path)):  # to look costs a fraction of a write
            self.records.remove(owner, REFUSED, _key(path), durable=False)


def refusal_of(record: Record) -> Refused:
    """The reason in a record."""
    value = record.value
    return Refused(string(value["what"]), string(value["resolution"]), code=string(value["code"]))


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
    """The hash of its upload; None if only tools wrote it."""
    at: str


@dataclass(frozen=True, slots=True)
class Deletions:
    """The deleted documents of each owner, by path."""

    records: RecordStore

    def note(self, owner: Owner, document: Document, at: str) -> None:
        """Note before the document goes that its upload is not to bring it back. Nothing, if it has a file."""
        if document.root is None:
            self.keep(owner, DeletedDocument(document.path, document.uploaded_sha256, at))

    def keep(self, owner: Owner, deleted: DeletedDocument) -> None:
        """Keep the facts about a deleted document."""
        value: JsonObject = {"path": deleted.path, "sha256": deleted.sha256, "at": deleted.at}
        self.records.put(owner, DELETED, _key(deleted.path), value)

    def find(self, owner: Owner, path: str) -> DeletedDocument | None:
        """The deleted document at that path, if there is one."""
        return read_or_none(self.records.get(owner, DELETED, _key(path)), deleted_document)

    def every(self, owner: Owner) -> list[DeletedDocument]:
        """All of them."""
        return list(readable(every(self.records, owner, DELETED), deleted_document))

    def end(self, owner: Owner, path: str) -> None:
        """Forget it: the path has a document again, or the upload is gone, too."""
        self.records.remove(owner, DELETED, _key(path))


def deleted_document(record: Record) -> DeletedDocument:
    """The deleted document of a record."""
    sha256 = record.value["sha256"]
    return DeletedDocument(
        string(record.value["path"]), None if sha256 is None else string(sha256), string(record.value["at"])
    )


def _key(path: str) -> str:
    return content_id(path, length=32)
