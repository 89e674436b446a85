"""The records of documents and their root folders."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from pydantic import TypeAdapter

from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject, string
from loci.core.stores import ABSENT, Record, RecordStore, every, read_or_none, readable
from loci.documents.document import DOCUMENT_ID, Document, Root, ids_for, normal_id
from loci.documents.vacant_paths import RefusedUploads
from loci.markdown.nouns import NO_LINKS, Form, Mention, Relation, WrittenLinks

DOCUMENT = "document"
ROOT = "root"
INGESTED_FOLDER = "ingested_folder"
MENTIONS = "said"
TEXT = "text"
NOTED_SECONDS = 3600.0
MAX_PROBLEMS = 20
STORED_NAMES: Final = {"parser_version": "reading", "written_by_tool": "by_tool", "uploaded_sha256": "uploaded"}
"""Fields that have another name in a record."""
_DOCUMENTS: Final = TypeAdapter(Document)


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """The document at a path, or the id that is free for one."""

    id: str
    document: Document | None
    version: str
    """The version of the document's record; `ABSENT` if it does not exist."""


class Catalog:
    """The documents and roots of each owner, by id."""

    def __init__(self, records: RecordStore) -> None:
        self.records = records
        self.refused = RefusedUploads(records)
        self._writes = 0
        self._lock = threading.Lock()

    @property
    def writes(self) -> int:
        """The number of times that this process wrote document records, or tried to. Use it to validate caches."""
        return self._writes

    def document(self, owner: Owner, id: str) -> Document | None:
        """The document of that id, or None."""
        id = normal_id(id)
        return self.with_version(owner, id)[0] if DOCUMENT_ID.fullmatch(id) else None

    def with_version(self, owner: Owner, id: str) -> tuple[Document | None, str]:
        """The document and the version of its record; None and `ABSENT` if it does not exist.

        None and a version: the record is damaged, and a write may replace it.
        """
        record = self.records.get(owner, DOCUMENT, id)
        return (None, ABSENT) if record is None else (read_or_none(record, document_of), record.version)

    def documents(self, owner: Owner) -> list[Document]:
        """All documents, ordered by id."""
        return [document for document, _ in self.with_versions(owner)]

    def iterate(self, owner: Owner) -> Iterator[Document]:
        """All documents, ordered by id, read page by page: only one page is in memory."""
        return (document for document, _ in self.with_versions(owner))

    def with_versions(self, owner: Owner, **unless: Json) -> Iterator[tuple[Document, str]]:
        """All documents, but for those with all these fields `unless`, each with the version that `put` compares."""
        left_out = {STORED_NAMES.get(name, name): value for name, value in unless.items()}.items()
        found = every(self.records, owner, DOCUMENT)
        wanted = (one for one in found if not left_out or any(one.value.get(at) != value for at, value in left_out))
        yield from readable(wanted, lambda one: (document_of(one), one.version))

    def load(self, owner: Owner, ids: Sequence[str]) -> dict[str, Document]:
        """The documents with these ids, without ids that no document has."""
        found = self.records.get_all(owner, DOCUMENT, ids)
        return {document.id: document for document in readable(found.values(), document_of)}

    def ids(self, owner: Owner) -> set[str]:
        """The ids of all documents, including documents with damaged records."""
        return {record.key for record in every(self.records, owner, DOCUMENT)}

    def page(self, owner: Owner, limit: int, after: str | None) -> tuple[list[Document], str | None]:
        """A page of at most `limit` documents that follow `after`, and the key to pass as the next `after`."""
        documents, after = self.page_with_versions(owner, limit, after)
        return [document for document, _ in documents], after

    def page_with_versions(
        self, owner: Owner, limit: int, after: str | None
    ) -> tuple[list[tuple[Document, str]], str | None]:
        """The same, each with the version that `put` compares."""
        page = self.records.list(owner, DOCUMENT, limit=limit, after=after)
        return list(readable(page.records, lambda one: (document_of(one), one.version))), page.next

    def find(self, owner: Owner, path: str) -> CatalogEntry:
        """The document at that path, or the id that a new one would get, which a damaged record may have."""
        free: CatalogEntry | None = None
        for id in ids_for(path):
            document, version = self.with_version(owner, id)
            if document is not None and document.path == path:
                return CatalogEntry(id, document, version)
            if document is None:
                free = free or CatalogEntry(id, None, version)
        return free or CatalogEntry("", None, ABSENT)

    def put(self, owner: Owner, document: Document, expect_version: str) -> str:
        """Write the document's record and return its version; `Conflict` if another writer was faster."""
        told = replace(document, problems=document.problems[:MAX_PROBLEMS])
        fields: JsonObject = _DOCUMENTS.dump_python(told, mode="json", exclude={"id"})
        value: JsonObject = {STORED_NAMES.get(name, name): one for name, one in fields.items()}
        try:
            # If a power cut loses the record, the next ingest writes it again.
            done = self.records.put(owner, DOCUMENT, document.id, value, expect_version=expect_version, durable=False)
        finally:
            self._count_write()
        return done.version

    def remove(self, owner: Owner, id: str) -> None:
        """Remove the document's record."""
        try:
            self.records.remove(owner, DOCUMENT, id)
        finally:
            self._count_write()

    def put_mentions(self, owner: Owner, id: str, said: WrittenLinks) -> None:
        """Store the aliases and mentions that the document's text contains."""
        if said == NO_LINKS:
            self.records.remove(owner, MENTIONS, id)
            return
        mentions = [[one.target, one.form, one.relation, one.line, one.evidence, one.anchor] for one in said.mentions]
        value: JsonObject = {"aliases": [*said.aliases], "mentions": [[*one] for one in mentions]}
        self.records.put(owner, MENTIONS, id, value, durable=False)

    def mentions(self, owner: Owner) -> dict[str, WrittenLinks]:
        """The aliases and mentions of each document that has any, by id."""
        return dict(readable(every(self.records, owner, MENTIONS), lambda one: (one.key, links_of(one))))

    def mentions_of_all(self, owner: Owner, ids: Sequence[str]) -> dict[str, WrittenLinks]:
        """The same of these documents."""
        found = self.records.get_all(owner, MENTIONS, ids).values()
        return dict(readable(found, lambda one: (one.key, links_of(one))))

    def mentions_of(self, owner: Owner, id: str) -> WrittenLinks:
        """The aliases and mentions of one document."""
        return read_or_none(self.records.get(owner, MENTIONS, id), links_of) or NO_LINKS

    def roots(self, owner: Owner) -> dict[str, Root]:
        """All roots, by id."""
        return {root.id: root for root in readable(every(self.records, owner, ROOT), root_of)}

    def root(self, owner: Owner, id: str) -> Root | None:
        """The root of that id, or None."""
        return read_or_none(self.records.get(owner, ROOT, id), root_of)

    def root_of(self, owner: Owner, document: Document) -> Root:
        """The root of a document in a file. `NotFound` if it is no longer known."""
        root = self.root(owner, document.root or "")
        if root is None:
            advice = "Ingest it again with: loci ingest FOLDER"
            raise NotFound(f"Loci no longer knows the folder of {document.path}", advice, code="ROOT_NOT_FOUND")
        return root

    def make_root(self, owner: Owner, folder: str, name: str) -> Root:
        """Make the folder a root. If another root has the name already, add a few characters to it."""
        roots = self.roots(owner)
        id = content_id(folder)
        if id in roots:
            return roots[id]
        taken = {root.name for root in roots.values()}
        root = Root(id, f"{name}-{id[:4]}" if name in taken else name, folder)
        self.records.put(owner, ROOT, id, {"name": root.name, "folder": folder})
        return root

    def remove_empty_roots(self, owner: Owner) -> None:
        """Remove the roots that have no documents.

        An ingested folder stays a root: its files may all be unreadable, and a reader of one then learns why.
        """
        unused = set(self.roots(owner))
        for document in self.iterate(owner):  # the first page has documents of most roots
            unused.discard(document.root or "")
            if not unused:
                return
        for id in unused:
            if self.records.get(owner, INGESTED_FOLDER, id) is None:
                self.records.remove(owner, ROOT, id)

    def note_text(self, owner: Owner, document: Document, now: float) -> None:
        """Note for an hour that the document has this text now: a removal finds it without reading all documents."""
        key, until = f"{document.sha256}/{document.id}", now + NOTED_SECONDS
        self.records.put(owner, TEXT, key, {}, expires_at=until, durable=False)

    def noted_texts(self, owner: Owner, sha256: str) -> list[str]:
        """The ids of the documents that got a text with this hash in the last hour."""
        prefix = f"{sha256}/"
        return [one.key.removeprefix(prefix) for one in self.records.list(owner, TEXT, prefix=prefix).records]

    def _count_write(self) -> None:
        with self._lock:
            self._writes += 1


def root_of(record: Record) -> Root:
    """The root of a record."""
    return Root(record.key, string(record.value["name"]), string(record.value["folder"]))


def links_of(record: Record) -> WrittenLinks:
    """The aliases and mentions of a record."""
    mentions = cast("list[tuple[str, Form, Relation, int, str, str | None]]", record.value["mentions"])
    aliases = cast("list[str]", record.value["aliases"])
    return WrittenLinks(tuple(aliases), tuple(Mention(*one) for one in mentions))


def document_of(record: Record) -> Document:
    """The document of a record."""
    fields = {name: record.value[stored] for name, stored in STORED_NAMES.items() if stored in record.value}
    return _DOCUMENTS.validate_python({**record.value, **fields, "id": record.key})
