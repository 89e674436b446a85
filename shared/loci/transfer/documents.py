"""Export and import of documents: their records and texts, and the earlier texts that tools replaced."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from loci.core.errors import Conflict
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject, string
from loci.core.stores import BlobStore, Record, RecordStore, read_or_none
from loci.documents.archive import ArchivedDocument
from loci.documents.catalog import DOCUMENT, document_of
from loci.documents.document import Document
from loci.documents.history import FOLDER, PastWrite, read_write
from loci.documents.ingest.local_files import MAX_DOCUMENT_BYTES, TEXTS, blob_key, checked_path
from loci.documents.vacant_paths import DELETED, deleted_document
from loci.transfer.items import (
    SAME,
    TAKEN,
    Item,
    Kind,
    Loaded,
    Outcome,
    Receiver,
    UnreadableItem,
    outcome_of,
    records_after,
)

if TYPE_CHECKING:
    from loci.documents.api import Documents

HEAD: Final = 10_000
"""The most bytes before an earlier text in its blob."""


class _OfDocuments(Kind):
    largest = MAX_DOCUMENT_BYTES + HEAD

    def __init__(self, records: RecordStore, blobs: BlobStore, documents: "Callable[[], Documents]") -> None:
        self._records = records
        self._blobs = blobs
        self._documents = documents


class DocumentKind(_OfDocuments):
    """All documents of an owner. Documents in folders of this machine lose the path of the folder."""

    name = "documents"

    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | UnreadableItem]:
        histories = _histories(self._blobs, owner)
        for record in records_after(self._records, owner, DOCUMENT, after):
            document = read_or_none(record, document_of)
            if document is None:
                yield UnreadableItem(record.key, "its record is damaged. Run: loci doctor --fix")
                continue
            blobs = [blob_key(document.id), *histories.get(_folder(document.path), ())]
            item = Item(self.name, record.key, {**record.value, "root": None}, dict.fromkeys(blobs, ""))
            yield Loaded(item, partial(self._read, owner, document))

    def _read(self, owner: Owner, document: Document, name: str) -> bytes:
        is_text = name == blob_key(document.id)
        return self._documents().archive.text(owner, document) if is_text else self._blobs.read(owner, name)

    def label(self, item: Item) -> str:
        return string(item.value["path"])

    def check(self, item: Item) -> None:
        document = document_in(item)
        if document.root is not None or checked_path(document.path) != document.path:
            raise ValueError(document.path)
        _check_blobs(item, document.path, blob_key(item.key))

    def preview(self, to: Receiver, item: Item) -> Outcome:
        archive, path = self._documents().archive, self.label(item)
        if (here := archive.hash_at(to.owner, path)) is not None:
            is_same = here == item.blobs[blob_key(item.key)]
            return SAME if is_same else Outcome("conflict", f"{path} is here with another text")
        if file := archive.file_at(to.owner, path):
            return Outcome("conflict", f"{path} would be the file {file}, and an import writes no files")
        return TAKEN

    def store(self, to: Receiver, some: Sequence[Loaded]) -> list[Outcome]:
        """Store the documents together, so that they are embedded in one go."""
        outcomes = [self.preview(to, one.item) for one in some]
        free = [number for number, one in enumerate(outcomes) if one == TAKEN]
        wanted = [_archived(some[number]) for number in free]
        errors = self._documents().archive.restore(to.owner, wanted) if wanted else []
        for number, error in zip(free, errors, strict=True):
            if isinstance(error, Conflict):  # another import was faster, or two wanted one id, such as a.md and A.md
                outcomes[number] = super().store(to, [some[number]])[0]
            elif error is not None:
                outcomes[number] = outcome_of(error)
        return outcomes

    def put(self, to: Receiver, one: Loaded) -> None:
        [error] = self._documents().archive.restore(to.owner, [_archived(one)])
        if error is not None:
            raise error


class DeletedKind(_OfDocuments):
    """Documents that tools deleted, so that the deletions can still be undone."""

    name = "deleted"

    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | UnreadableItem]:
        histories = _histories(self._blobs, owner)
        for record in records_after(self._records, owner, DELETED, after):
            if (deleted := read_or_none(record, deleted_document)) is not None:
                blobs = dict.fromkeys(histories.get(_folder(deleted.path), ()), "")
                item = Item(self.name, record.key, record.value, blobs)
                yield Loaded(item, partial(self._blobs.read, owner))

    def label(self, item: Item) -> str:
        return f"{item.value['path']} (deleted)"

    def check(self, item: Item) -> None:
        path = deleted_document(_record(item)).path
        if checked_path(path) != path:
            raise ValueError(path)
        _check_blobs(item, path)

    def preview(self, to: Receiver, item: Item) -> Outcome:
        archive, path = self._documents().archive, string(item.value["path"])
        is_known = archive.is_deleted(to.owner, path) or archive.hash_at(to.owner, path) is not None
        return SAME if is_known else TAKEN

    def put(self, to: Receiver, one: Loaded) -> None:
        deleted = deleted_document(_record(one.item))
        self._documents().archive.restore_deleted(to.owner, deleted, _history(one))


def _histories(blobs: BlobStore, owner: Owner) -> dict[str, list[str]]:
    """List the keys of all earlier texts once, by the folder of their document."""
    found: dict[str, list[str]] = {}
    for key in blobs.list(owner, FOLDER):
        found.setdefault(f"{key.rpartition('/')[0]}/", []).append(key)
    return found


def _folder(path: str) -> str:
    return f"{FOLDER}{content_id(path, length=32)}/"


def _check_blobs(item: Item, path: str, *needed: str) -> None:
    others = item.blobs.keys() - {*needed}
    if len(others) + len(needed) != len(item.blobs) or not all(one.startswith(_folder(path)) for one in others):
        raise ValueError("other blobs than its own")


def _record(item: Item) -> Record:
    return Record(item.key, item.value, "")


def document_in(item: Item) -> Document:
    """The document, after checks of all fields that are imported. The other fields come from its text."""
    for name in ("ingested_at", "changed_on", "written_at", "uploaded"):
        if (value := item.value.get(name)) is not None:
            string(value)
    [string(one) for one in cast("list[Json]", item.value.get("former") or [])]
    return document_of(_record(item))


def _archived(one: Loaded) -> ArchivedDocument:
    return ArchivedDocument(document_in(one.item), one.load(blob_key(one.item.key)), tuple(_history(one)))


def _history(one: Loaded) -> list[PastWrite]:
    """The earlier texts, oldest first. Plans of moves are not exported: a move is undone document by document."""
    keys = sorted(name for name in one.item.blobs if not name.startswith(TEXTS))
    read = (read_write(one.load(key)) for key in keys)
    return [replace(write, move=None) for write in read if write is not None]


def bare_document(path: str, **facts: Json) -> JsonObject:
    """The record of a document with only these facts. The other fields come from its text."""
    unknown: JsonObject = dict.fromkeys(("date", "model", "root", "uploaded"))
    unread: JsonObject = {"title": "", "tags": [], "sha256": "", "bytes": 0, "lines": 0, "chunks": 0, "problems": []}
    return {"path": path, "ingested_at": "", **unknown, **unread, **facts}
