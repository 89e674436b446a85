"""What is known of documents and of the folders that they come from: one record each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject
from loci.core.stores import ABSENT, Record, RecordStore, every
from loci.documents.document import Document, Problem, Root
from loci.documents.document_ids import ids_for
from loci.documents.link import NO_LINKS, Form, Mention, Relation, WrittenLinks

DOCUMENT = "document"
ROOT = "root"
SAID = "said"
MOST_PROBLEMS = 20
ID = re.compile(r"[a-z0-9-]{1,120}")


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """What is known of a path."""

    id: str
    """Of its document; where there is none, the one that it would have."""
    document: Document | None
    version: str
    """Of the document's record; `ABSENT` where there is none."""


class Catalog:
    """The documents and roots of each owner, by id."""

    def __init__(self, records: RecordStore) -> None:
        self._records = records

    def document(self, owner: Owner, id: str) -> Document | None:
        """What is known of it; None where there is none of that id."""
        return self.version(owner, id)[0] if ID.fullmatch(id) else None

    def version(self, owner: Owner, id: str) -> tuple[Document | None, str]:
        """The document and its version; None and `ABSENT` where there is none."""
        record = self._records.get(owner, DOCUMENT, id)
        return (None, ABSENT) if record is None else (_document(record), record.version)

    def documents(self, owner: Owner) -> list[Document]:
        """All of them, in the order of their ids."""
        return [document for document, _ in self.versions(owner)]

    def versions(self, owner: Owner) -> Iterator[tuple[Document, str]]:
        """All of them, each with its version, which `put` compares."""
        for record in every(self._records, owner, DOCUMENT):
            yield _document(record), record.version

    def page(self, owner: Owner, limit: int, after: str | None) -> tuple[list[Document], str | None]:
        """So many of them from the one behind `after` on, and where the next ones begin."""
        page = self._records.list(owner, DOCUMENT, limit=limit, after=after)
        return [_document(record) for record in page.records], page.next

    def find(self, owner: Owner, path: str) -> CatalogEntry:
        """The document of that path, or where one would be."""
        free = ""
        for id in ids_for(path):
            record = self._records.get(owner, DOCUMENT, id)
            if record is not None and record.value["path"] == path:
                return CatalogEntry(id, _document(record), record.version)
            if record is None:
                free = free or id
        return CatalogEntry(free, None, ABSENT)

    def put(self, owner: Owner, document: Document, expect_version: str) -> str:
        """Keep it, and get its version; `Conflict` where somebody else wrote it meanwhile."""
        value: JsonObject = {
            "path": document.path,
            "root": document.root,
            "title": document.title,
            "tags": [*document.tags],
            "date": document.date,
            "sha256": document.sha256,
            "bytes": document.bytes,
            "lines": document.lines,
            "chunks": document.chunks,
            "model": document.model,
            "ingested_at": document.ingested_at,
            "reading": document.reading,
            "former": [*document.former],
            "written_at": document.written_at,
            "uploaded": document.uploaded,
            "problems": [{"what": one.what, "line": one.line} for one in document.problems[:MOST_PROBLEMS]],
        }
        # After a power cut without it, the document is taken in again.
        kept = self._records.put(owner, DOCUMENT, document.id, value, expect_version=expect_version, durable=False)
        return kept.version

    def remove(self, owner: Owner, id: str) -> None:
        """Forget the document."""
        self._records.remove(owner, DOCUMENT, id)

    def say(self, owner: Owner, id: str, said: WrittenLinks) -> None:
        """Keep what the document says of itself and of others."""
        if said == NO_LINKS:
            self._records.remove(owner, SAID, id)
            return
        mentions = [[one.target, one.form, one.relation, one.line, one.evidence, one.anchor] for one in said.mentions]
        value: JsonObject = {"aliases": [*said.aliases], "mentions": [[*one] for one in mentions]}
        self._records.put(owner, SAID, id, value, durable=False)

    def said(self, owner: Owner) -> dict[str, WrittenLinks]:
        """What each document says, by id; those that say nothing are left out."""
        return {record.key: _said(record) for record in every(self._records, owner, SAID)}

    def roots(self, owner: Owner) -> dict[str, Root]:
        """All roots, by id."""
        records = every(self._records, owner, ROOT)
        return {one.key: Root(one.key, str(one.value["name"]), str(one.value["folder"])) for one in records}

    def root(self, owner: Owner, id: str) -> Root | None:
        """The root of that id; None where there is none."""
        record = self._records.get(owner, ROOT, id)
        return None if record is None else Root(id, str(record.value["name"]), str(record.value["folder"]))

    def make_root(self, owner: Owner, folder: str, name: str) -> Root:
        """The folder as a root. It has this name, unless another one does: then a few characters more."""
        roots = self.roots(owner)
        id = content_id(folder)
        if id in roots:
            return roots[id]
        taken = {root.name for root in roots.values()}
        root = Root(id, f"{name}-{id[:4]}" if name in taken else name, folder)
        self._records.put(owner, ROOT, id, {"name": root.name, "folder": folder})
        return root

    def remove_empty_roots(self, owner: Owner) -> None:
        """Forget the roots that no document lies in."""
        used = {document.root for document in self.documents(owner)}
        for id in self.roots(owner).keys() - used:
            self._records.remove(owner, ROOT, id)


def _said(record: Record) -> WrittenLinks:
    mentions = cast("list[tuple[str, Form, Relation, int, str, str | None]]", record.value["mentions"])
    aliases = cast("list[str]", record.value["aliases"])
    return WrittenLinks(tuple(aliases), tuple(Mention(*one) for one in mentions))


def _document(record: Record) -> Document:
    value = record.value
    tags, problems = cast("list[str]", value["tags"]), cast("list[JsonObject]", value["problems"])
    return Document(
        id=record.key,
        path=str(value["path"]),
        root=_text(value["root"]),
        title=str(value["title"]),
        tags=tuple(tags),
        date=_text(value["date"]),
        sha256=str(value["sha256"]),
        bytes=_number(value["bytes"]),
        lines=_number(value["lines"]),
        chunks=_number(value["chunks"]),
        model=_text(value["model"]),
        ingested_at=str(value["ingested_at"]),
        problems=tuple(Problem(str(one["what"]), cast("int | None", one["line"])) for one in problems),
        reading=_number(value.get("reading", 0)),
        former=tuple(cast("list[str]", value.get("former", []))),
        written_at=_text(value.get("written_at")),
        # Of before it was kept: what is known is then what was uploaded.
        uploaded=_text(value.get("uploaded", value["sha256"])),
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _number(value: object) -> int:
    return int(str(value))
