"""`search` and `fetch`, in the one shape that ChatGPT's connectors and deep research read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import quote

from pydantic import BaseModel, Field

from loci.core.errors import NotFound
from loci.core.identity import Caller, Owner
from loci.core.injections import warning_of
from loci.core.scopes import check_scopes
from loci.core.trust import in_short
from loci.documents.document import owner_of
from loci.documents.foreign import foreign_of
from loci.files.search_query import FileScope, parsed
from loci.mcp.threads import SEARCHES
from loci.mcp.tool import LociTool, loci_tool

if TYPE_CHECKING:
    from loci.app import App

DOCUMENTS: Final = "documents:read"
FILES: Final = "files:read"
"""The scopes that a client needs for each of the two parts."""
MOST: Final = 10
"""Results of a search."""
LONGEST_QUERY: Final = 10_000
LARGEST: Final = 50_000
"""Characters that a fetch returns."""
PASSAGES: Final = 200
"""Passages of a file that a fetch looks at."""
ROOM: Final = 200
SHAPE: Final = re.compile(r"(document:.{1,1100}?|file:[^~]{1,64})(?:@(\d{1,9}))?(?:~(\d{1,6}))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LookupEntry:
    """A place in a document (its first character) or in a file (its first passage)."""

    is_file: bool
    name: str
    """The id of the document or the file."""
    first: int | None = None

    @property
    def id(self) -> str:
        """The id for `fetch`: `document:notes-plan`, `document:notes-plan@50000`, `file:ds-1f~12`."""
        kind, sign = ("file", "~") if self.is_file else ("document", "@")
        return f"{kind}:{self.name}" + ("" if self.first is None else f"{sign}{self.first}")

    @property
    def scope(self) -> str:
        """The scope that a client needs to read it."""
        return FILES if self.is_file else DOCUMENTS

    def url(self, base: str) -> str:
        """The page of Loci that shows it."""
        if not self.is_file:
            return f"{base}/ui/search#doc/{quote(self.name, safe='')}"
        return f"{base}/ui/files#{self.name}" + ("" if self.first is None else f"~{self.first}")


def entry_of(id: str) -> LookupEntry:
    """The entry behind an id. Raises `NotFound` if the id is malformed."""
    found = SHAPE.fullmatch(id)
    if found is None or (found[2] and id.startswith("file:")) or (found[3] and id.startswith("document:")):
        raise NotFound(f"There is nothing with the id {id[:80]!r}", "Use ids that search gave", code="ID_NOT_FOUND")
    kind, _, name = found[1].partition(":")
    first = found[2] or found[3]
    return LookupEntry(kind == "file", name, int(first) if first else None)


class Result(BaseModel):
    id: str = Field(description="for fetch")
    title: str
    url: str = Field(description="the page that shows it")


class Results(BaseModel):
    results: list[Result] = Field(description="best first")


class Fetched(BaseModel):
    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str] = Field(description="where it is, its date, and `next`: the id of what follows")


def lookup_tools(app: "App") -> list[LociTool]:
    """`search` and `fetch`."""

    def search(
        query: Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY, description="what to look for")],
        caller: Caller,
    ) -> Results:
        """Search all documents and files of the user, by meaning and by words. Read a result with fetch."""
        parts = [part for scope, part in ((DOCUMENTS, _documents), (FILES, _files)) if caller.may(scope)]
        found = [one for part in parts for one in part(app, caller.owner, query)]
        best = sorted(found, key=lambda one: -one[0])[:MOST]
        base = app.settings.base_url
        return Results(results=[Result(id=one.id, title=title, url=one.url(base)) for _, one, title in best])

    def fetch(
        id: Annotated[str, Field(min_length=1, max_length=1200, description="from search, or from metadata.next")],
        caller: Caller,
    ) -> Fetched:
        """Read a document or a file that search found. `metadata.next` is the id of the rest, if there is more."""
        entry = entry_of(id)
        check_scopes(caller, [entry.scope], "This file" if entry.is_file else "This document")
        read = _read_file if entry.is_file else _read_document
        fetched = read(app, caller.owner, entry)
        if warning := warning_of(fetched.text):
            fetched.metadata["warning"] = warning
        return fetched

    return [
        loci_tool(search, title="Search documents and files", quick=True, threads=SEARCHES),
        loci_tool(fetch, title="Read a document or a file", quick=True, budget=None),
    ]


Found = tuple[float, LookupEntry, str]


def _documents(app: "App", owner: Owner, query: str) -> Sequence[Found]:
    found = app.sharing.search(owner, query, limit=MOST, room=ROOM)
    known = found.documents
    return [
        (hit.score, LookupEntry(is_file=False, name=id), known[id].title if id in known else id)
        for hit in found.ranking.hits
        if (id := hit.chunk.document)
    ]


def _files(app: "App", owner: Owner, query: str) -> Sequence[Found]:
    asked = parsed(rewritten=query)
    if not asked.text.strip():
        return []
    found = app.files.search(owner, asked, limit=MOST, scope=FileScope())
    best = [(one.file, one.passages[0]) for one in found.files if one.match != "none"]
    return [
        (
            passage.score,
            LookupEntry(True, file.id, _number(passage.chunk_id)),
            f"{file.full_path}, {passage.where.label}",
        )
        for file, passage in best
    ]


def _read_document(app: "App", owner: Owner, entry: LookupEntry) -> Fetched:
    read = app.sharing.read(owner, entry.name)
    document, first = read.document, entry.first or 0
    if first and first >= len(read.text):
        raise _past_end(entry, f"{len(read.text)} characters")
    end = first + LARGEST
    metadata = {"path": document.path}
    if giver := owner_of(document):
        metadata["owner"] = giver
    if sources := foreign_of(document):
        metadata |= {"trust": "foreign", "sources": in_short(sources)}
    if document.dated:
        metadata["date"] = document.dated.day
    if end < len(read.text):
        metadata |= {"next": LookupEntry(False, document.id, end).id, "characters": str(len(read.text))}
    url = LookupEntry(False, document.id).url(app.settings.base_url)
    return Fetched(id=entry.id, title=document.title, text=read.text[first:end], url=url, metadata=metadata)


def _read_file(app: "App", owner: Owner, entry: LookupEntry) -> Fetched:
    """The passages from that one on, as many as there is room for."""
    first = entry.first or 0
    version, passages = app.files.contents.passages(owner, entry.name, None, first=first, count=PASSAGES)
    if first and first >= version.chunks:
        raise _past_end(entry, f"{version.chunks} passages")
    ends = accumulate(len(one.text) for one in passages)
    texts = [one.text for at, (one, end) in enumerate(zip(passages, ends, strict=True)) if at == 0 or end <= LARGEST]
    [file] = app.files.status(owner, [entry.name])
    metadata = {"file": file.name, "type": file.kind, "added": version.added_at[:10]}
    if passages:
        metadata["place"] = passages[0].where.label
    if first + len(texts) < version.chunks:
        metadata |= {"next": LookupEntry(True, entry.name, first + len(texts)).id, "passages": str(version.chunks)}
    url = entry.url(app.settings.base_url)
    return Fetched(id=entry.id, title=file.full_path, text="\n\n".join(texts), url=url, metadata=metadata)


def _past_end(entry: LookupEntry, length: str) -> NotFound:
    start = LookupEntry(entry.is_file, entry.name).id
    what = f"There is nothing at {entry.id!r}: {start!r} has {length}"
    return NotFound(what, f"Fetch {start!r} to read from the start, then follow metadata.next", code="ID_NOT_FOUND")


def _number(chunk_id: str) -> int:
    """The number of a passage in its file."""
    return int(chunk_id.rpartition("#")[2])
