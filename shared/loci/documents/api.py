"""Documents: the one door. MCP tools, commands, pages and HTTP routes call these methods and nothing behind them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from loci.core.errors import Refused, Unavailable
from loci.core.identity import Owner
from loci.documents.content.excerpt import Excerpt, ExcerptRequest, read_excerpt
from loci.documents.document import DOCUMENT_ID, UNPARSED, Document, DocumentText, IngestSummary, Relation
from loci.documents.graph.clusters import Method as TopicMethod
from loci.documents.graph.clusters import TopicFinder, Topics
from loci.documents.graph.gaps import FoundGaps, GapFinder
from loci.documents.graph.neighbourhood import Direction, DocumentLink, LinkExplorer, Surroundings
from loci.documents.graph.picture import Pictures, PictureSource
from loci.documents.graph.reading_list import ReadingAdvisor, SuggestedReading
from loci.documents.ingest.index_writer import COLLECTION, Progress, no_progress
from loci.documents.ingest.local_files import LocalPath, is_below
from loci.documents.ingest.uploads import ClientSync
from loci.documents.ingest.watched_folder import WatchedFolder
from loci.documents.parts import DocumentParts, Upkeep
from loci.documents.writing.authoring import EditDraft, missing
from loci.documents.writing.edits import UndoneWrite, WrittenDocument
from loci.search.ranking import EVERYTHING, Chunk, Ranking, Where

READING_SEEDS = 10
"""Search results from which a reading list begins."""
REASON_CHARACTERS = 160
"""Of the text that a reason for reading quotes."""


@dataclass(frozen=True, slots=True)
class TaggedDocument:
    """A document that has some of the tags, and its first passage."""

    document: Document
    beginning: Chunk | None


@dataclass(frozen=True, slots=True)
class AddedTags:
    """Tags that were added to a document, or would be."""

    written: WrittenDocument
    document: Document | None
    added: tuple[str, ...]
    is_merged: bool
    """True if they joined tags that were there."""


class Documents:
    """Every owner's documents: found, read, linked, written and ingested."""

    def __init__(self, parts: DocumentParts) -> None:
        self.parts = parts
        self._links = LinkExplorer(parts.graphs, parts.similar_links)

    @property
    def sync(self) -> ClientSync:
        """Documents that a client keeps up to date from elsewhere."""
        return self.parts.sync

    @property
    def upkeep(self) -> Upkeep:
        """Work that a server does beside serving."""
        return Upkeep(self.parts)

    def search(self, owner: Owner, query: str, *, limit: int, room: int, where: Where = EVERYTHING) -> Ranking:
        """Rank the documents that answer the query, each with a snippet of at most `room` characters."""
        try:
            return self.parts.search.find(owner, COLLECTION, query, limit=limit, room=room, where=where)
        except Unavailable as error:
            advice = f"{error.resolution}. `loci doctor` says what is wrong; `loci ingest` adds the documents again"
            raise Unavailable(f"Search Error: Vector search failed: {error.what}", advice, code=error.code) from error

    def with_tags(
        self, owner: Owner, tags: Sequence[str], without: Sequence[str], *, every: bool, limit: int
    ) -> list[TaggedDocument]:
        """The documents with all (or any) of the tags, best first."""
        found = self.parts.library.tagged(owner, tags, without, every=every)[:limit]
        chunks = self.parts.index.chunks(owner, COLLECTION, [f"{one.id}#0" for one in found])
        return [TaggedDocument(one, chunks.get(f"{one.id}#0")) for one in found]

    def newest(self, owner: Owner) -> list[Document]:
        """All documents, the newest first: by their dates, then by when they were ingested."""
        documents = self.parts.graphs.of(owner).documents.values()
        return sorted(documents, key=lambda one: (one.date or "", one.ingested_at, one.id), reverse=True)

    def is_empty(self, owner: Owner) -> bool:
        """True if the owner has no document."""
        return not self.parts.library.documents(owner)

    def folders(self, owner: Owner, below: str | None = None, depth: int | None = None) -> list[str]:
        """The folders of all documents, as in `docs/briefs/`; only those below a folder, only so many levels."""
        prefix = "" if below is None else below.rstrip("/") + "/"
        return [
            one
            for one in self.parts.library.folders(owner)
            if one.startswith(prefix) and (depth is None or one.count("/") <= depth)
        ]

    def read(self, owner: Owner, name: str, *, remember: bool = True) -> DocumentText:
        """The text of a document as it is now. `remember`: reading lists then count it as read."""
        text = self.parts.library.read(owner, name)
        if remember:
            self.parts.recently_read.note(owner, text.document.id, text.sha256)
        return text

    def excerpt(self, text: DocumentText, request: ExcerptRequest) -> Excerpt:
        """The part of a document's text that is asked for."""
        if request.heading and UNPARSED in text.document.problems:
            raise _not_parsed(text.document)
        return read_excerpt(text.text, request, self.parts.embedder.count, text.document.title)

    def links(
        self,
        owner: Owner,
        name: str,
        *,
        direction: Direction | Literal["both"],
        relation: Relation | None = None,
        with_open: bool = False,
    ) -> list[DocumentLink]:
        """The links of a document, with those to similar documents; `with_open` adds links that lead nowhere yet."""
        id = self.parts.library.get(owner, name).id
        return self._links.links(owner, id, direction=direction, relation=relation, with_open=with_open)

    def surroundings(self, owner: Owner, name: str, *, depth: int, limit: int, over_similar: bool) -> Surroundings:
        """The documents within some links of one, nearest first, each with the shortest way to it."""
        id = self.parts.library.get(owner, name).id
        return self._links.around(owner, id, depth=depth, limit=limit, over_similar=over_similar)

    def gaps(self, owner: Owner, *, limit: int, threshold: float) -> FoundGaps:
        """Pairs of similar documents that no link joins, the most similar first."""
        parts = self.parts
        finder = GapFinder(parts.index, parts.graphs, parts.similarities, parts.remarks)
        return finder.find(owner, limit=limit, threshold=threshold)

    def topics(self, owner: Owner, method: TopicMethod, *, limit: int, min_size: int) -> Topics:
        """The documents in groups that belong together, the largest first."""
        parts = self.parts
        finder = TopicFinder(parts.index, parts.graphs, parts.clusters, parts.remarks)
        return finder.find(owner, method, limit=limit, min_size=min_size)

    def suggest_reading(self, owner: Owner, context: str, *, limit: int, max_tokens: int) -> SuggestedReading:
        """Documents to read before a task, in an order, each with the reason for it."""
        ranking = self.search(owner, context, limit=READING_SEEDS, room=REASON_CHARACTERS)
        parts = self.parts
        advisor = ReadingAdvisor(
            parts.index,
            parts.embedder,
            parts.graphs,
            parts.similarities,
            parts.similar_links,
            parts.recently_read,
        )
        return advisor.suggest(owner, ranking, limit=limit, max_tokens=max_tokens)

    def picture(self, owner: Owner, *, with_gaps: bool = True) -> PictureSource:
        """The graph of the documents, to be drawn with any number of them."""
        parts = self.parts
        pictures = Pictures(parts.index, parts.graphs, parts.similarities, parts.clusters)
        return pictures.source(owner, with_gaps=with_gaps)

    def add_tags(self, owner: Owner, name: str, tags: Sequence[str], *, dry_run: bool) -> AddedTags:
        """Write tags into a document that lacks them. A dry run writes nothing."""
        from loci.documents.writing.tagging import TaggedText, tagged  # 0.1 s, which a search does not pay

        done: list[TaggedText] = []

        def change(path: str, before: bytes | None) -> bytes:
            if before is None:
                raise missing(name)
            self._check_parsed(owner, path)
            done[:] = [tagged(path, before, list(tags))]
            return done[0].content

        self._check_id(owner, name)
        written = self.parts.edits.change(owner, name, change, expect=None, by="inject_tags", dry_run=dry_run)
        document = written.document or self.parts.catalog.find(owner, written.target.path).document
        return AddedTags(written, document, done[0].added, done[0].is_merged)

    def write(self, owner: Owner, name: str, draft: EditDraft, *, expected_hash: str | None) -> WrittenDocument:
        """Create a document or change its text. Refused if it changed since it had the expected hash."""
        if draft.mode != "create":
            self._check_id(owner, name)

        def change(path: str, before: bytes | None) -> bytes:
            if draft.mode in ("append", "edit") or draft.heading:
                self._check_parsed(owner, path)
            return draft.apply(path, before)

        edits = self.parts.edits
        return edits.change(owner, name, change, expect=expected_hash, by="write_document", with_links=True)

    def undo(self, owner: Owner, name: str, *, expected_hash: str | None) -> UndoneWrite:
        """Take back the last write of a tool to a document."""
        return self.parts.edits.undo(owner, name, expect=expected_hash)

    def ingest(self, owner: Owner, paths: Sequence[str], progress: Progress = no_progress) -> IngestSummary:
        """Ingest files and folders of this machine: what is new, changed or gone since the last time."""
        return self.parts.ingest.run(owner, paths, progress)

    def watch(self, owner: Owner, folders: Sequence[LocalPath] = ()) -> list[WatchedFolder]:
        """Watch these folders, or every ingested one. A folder inside another is watched by itself too."""
        roots = [LocalPath(root.folder, True, root.name) for root in self.parts.catalog.roots(owner).values()]
        if not folders and not roots:
            raise Refused("No folder has been ingested yet", "Name one: loci watch FOLDER", code="NOTHING_TO_WATCH")
        inner = [one for one in roots if any(_is_inside(one.path, outer.path) for outer in folders)]
        every = {one.path: one for one in [*folders, *inner]} if folders else {one.path: one for one in roots}
        return [
            WatchedFolder(
                self.parts.ingest, owner, one, [other for other in every if _is_inside(other, one.path)], time.time
            )
            for one in every.values()
        ]

    def forget(
        self, owner: Owner, names: Sequence[str], confirm: Callable[[Sequence[Document]], None]
    ) -> Sequence[Document]:
        """Remove documents, named by id, path or folder, from the index. `confirm` raises to stop it."""
        found = {one.id: one for name in names for one in self.parts.library.matching(owner, name)}
        documents = list(found.values())
        confirm(documents)
        self.parts.library.remove(owner, documents)
        return documents

    def _check_id(self, owner: Owner, name: str) -> None:
        """If the name is an id of no document, name ids that look like it."""
        if DOCUMENT_ID.fullmatch(name):
            self.parts.library.get(owner, name)

    def _check_parsed(self, owner: Owner, path: str) -> None:
        """Refuse to look for headings in a document that could not be parsed: that would take as long again."""
        document = self.parts.catalog.find(owner, path).document
        if document and UNPARSED in document.problems:
            raise _not_parsed(document)


def _not_parsed(document: Document) -> Refused:
    return Refused(
        f"{document.path} could not be parsed in time, so it has no sections and takes no tags",
        f"Read it by lines, replace all of it with write_document, or remove it with: loci forget {document.id}",
        code="NOT_PARSED",
    )


def _is_inside(path: str, folder: str) -> bool:
    return path != folder and is_below(path, [folder])
