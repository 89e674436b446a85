"""Documents: the one door. MCP tools, commands, pages and HTTP routes call these methods and nothing behind them."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from loci.core.errors import Damaged
from loci.core.full_disk import freeing
from loci.core.identity import Owner
from loci.documents.archive import DocumentArchive
from loci.documents.directory import directory
from loci.documents.document import Document, DocumentText
from loci.documents.filtering import EVERY_PART, Part
from loci.documents.finding import FoundDocuments, find_documents
from loci.documents.ingest.index_writer import COLLECTION, Progress, no_progress
from loci.documents.ingest.local_files import LocalPath, is_below
from loci.documents.ingest.outcome import IngestSummary
from loci.documents.ingest.uploads import ClientSync
from loci.documents.ingest.watched_folder import WatchedFolder
from loci.documents.parts import DocumentParts
from loci.documents.recency import recency_of
from loci.documents.upkeep import Upkeep
from loci.markdown.excerpt import Excerpt, ExcerptRequest, read_excerpt
from loci.search.ranking import EVERYTHING, Chunk, Where


@dataclass(frozen=True, slots=True)
class TaggedDocument:
    """A document that has some of the tags, and its first passage."""

    document: Document
    beginning: Chunk | None


class Documents:
    """Every owner's documents: found, read, linked, written and ingested."""

    def __init__(self, parts: DocumentParts) -> None:
        self.parts = parts

    @property
    def sync(self) -> ClientSync:
        """Documents that a client keeps up to date from elsewhere."""
        return self.parts.sync

    @property
    def archive(self) -> DocumentArchive:
        """Documents with all that is known of them, to be moved elsewhere and back."""
        return self.parts.archive

    @property
    def upkeep(self) -> Upkeep:
        """Work that a server does beside serving."""
        return self.parts.upkeep

    def search(
        self,
        owner: Owner,
        query: str,
        *,
        limit: int,
        room: int,
        where: Where = EVERYTHING,
        newest_first: bool = False,
        part: Part = EVERY_PART,
    ) -> FoundDocuments:
        """The documents of a part that answer the query, each with a snippet of at most `room` characters."""
        return find_documents(
            self.parts, owner, query, limit=limit, room=room, where=where, newest_first=newest_first, part=part
        )

    def with_tags(
        self, owner: Owner, tags: Sequence[str], without: Sequence[str], *, every: bool, limit: int
    ) -> list[TaggedDocument]:
        """The documents with all (or any) of the tags, best first."""
        found = self.parts.library.tagged(owner, tags, without, every=every)[:limit]
        chunks: dict[str, Chunk] = {}
        with suppress(Damaged):  # they are shown without their beginnings
            chunks = self.parts.index.chunks(owner, COLLECTION, [f"{one.id}#0" for one in found])
        return [TaggedDocument(one, chunks.get(f"{one.id}#0")) for one in found]

    def newest(self, owner: Owner) -> list[Document]:
        """All documents, the newest first: by their dates, then by when they were ingested."""
        documents = self.parts.library.cached(owner)
        recency = recency_of(documents)
        return sorted(documents, key=lambda one: (recency.day(one), one.ingested_at, one.id), reverse=True)

    def is_empty(self, owner: Owner) -> bool:
        """True if the owner has no document."""
        return self.parts.library.is_empty(owner)

    def is_more_than(self, owner: Owner, number: int) -> bool:
        """True if the owner has more documents than that, or perhaps has. Reads no more of them."""
        return self.parts.library.is_more_than(owner, number)

    def undated(self, owner: Owner) -> int:
        """The number of documents that do not say their date: only that of their last change is known."""
        return sum(one.date is None for one in self.parts.library.cached(owner))

    def directory(
        self, owner: Owner, below: str | None = None, depth: int | None = None, *, with_documents: bool = False
    ) -> list[str]:
        """The folders of all documents, as in `docs/briefs/`; only those below a folder, only so many levels."""
        paths = [one.path for one in self.parts.library.cached(owner)]
        return directory(paths, below, depth, with_documents=with_documents) if paths else []

    def read(self, owner: Owner, name: str, *, remember: bool = True) -> DocumentText:
        """The text of a document as it is now. `remember`: reading lists then count it as read."""
        text = self.parts.library.read(owner, name)
        if remember:
            self.parts.recently_read.note(owner, text.document.id, text.sha256)
        return text

    def excerpt(self, text: DocumentText, request: ExcerptRequest) -> Excerpt:
        """The part of a document's text that is asked for."""
        return read_excerpt(text.text, request, self.parts.embedder.count, text.document.title)

    def ingest(self, owner: Owner, paths: Sequence[str], progress: Progress = no_progress) -> IngestSummary:
        """Ingest files and folders of this machine: what is new, changed or gone since the last time."""
        return self.parts.ingest.run(owner, paths, progress)

    def watch(self, owner: Owner, folders: Sequence[LocalPath] = ()) -> list[WatchedFolder]:
        """Watch every ingested folder from now on, and these.

        A folder inside another is watched by itself too. A folder that was made a root for single files is not.
        """
        parts = self.parts
        for one in folders:
            parts.folders.note(owner, one)
        every = parts.folders.all(owner)
        return [
            WatchedFolder(
                parts.ingest,
                owner,
                one,
                tuple(other.path for other in every if _is_inside(other.path, one.path)),
                time.time,
            )
            for one in every
        ]

    @freeing()
    def forget(
        self, owner: Owner, names: Sequence[str], confirm: Callable[[Sequence[Document]], None]
    ) -> Sequence[Document]:
        """Remove documents, named by id, path or folder, from the index. `confirm` raises to stop it."""
        found = {one.id: one for name in names for one in self.parts.library.matching(owner, name)}
        documents = list(found.values())
        confirm(documents)
        self.parts.folders.forget(owner, documents)  # first: the removal drops their roots
        self.parts.library.remove(owner, documents)
        return documents


def _is_inside(path: str, folder: str) -> bool:
    return path != folder and is_below(path, [folder])
