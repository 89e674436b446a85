"""Documents: the one door. MCP tools, commands, pages and HTTP routes call these methods, and none behind them."""

import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from loci.core.errors import Damaged, Misconfigured, Unavailable
from loci.core.full_disk import freeing
from loci.core.identity import Owner
from loci.core.trust import saw
from loci.documents.archive import DocumentArchive
from loci.documents.bundles import without_listings
from loci.documents.document import Document, DocumentText, Recency, recency_of
from loci.documents.filtering import EVERY_PART, LibraryPart, directory
from loci.documents.foreign import foreign_in, foreign_of, saw_titles
from loci.documents.ingest.index_writer import COLLECTION, Progress, no_progress
from loci.documents.ingest.local_files import LocalPath, is_below
from loci.documents.ingest.outcome import IngestSummary
from loci.documents.ingest.uploads import ClientSync
from loci.documents.ingest.watched_folder import WatchedFolder
from loci.documents.parts import DocumentParts
from loci.documents.supersession import after_successors
from loci.documents.unknown_names import EMPTY_LIBRARY
from loci.documents.upkeep import Upkeep
from loci.documents.validity import holds
from loci.markdown.date_ranges import time_named
from loci.markdown.dates import first_day
from loci.markdown.excerpt import Excerpt, ExcerptRequest, read_excerpt, read_outline
from loci.search.ranking import Chunk, Hit, NamedTime, Ranking

AMONG = 300
"""Documents, the best for the question, from which the newest are chosen."""
FITS_AS_WELL = 0.5
"""The least share of the best relevance with which a document counts as about the question, when newest come first."""
EACH, MOST = 5, 60
"""Passages of one document, and of all: a document may answer several parts of a question."""
FITS_TOO = 0.7
"""A further passage of a document is shown if it fits so well, as a share of the best of all. On talks of months, at
five documents, that holds 2 % less of the evidence than all of them, in a quarter less bytes."""
FILLED = 16
"""Passages, the best, for which the passages around them are fetched: an answer has no room for more whole ones."""
FILLED_UP = 600
"""The most characters of a passage together with the passages around it."""
MOST_BESIDE = 4
"""Passages on each side of a passage that may be fetched."""


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """The answer to a question."""

    ranking: Ranking
    """The ranking of the documents: a hit is the best passage of its document."""
    documents: Mapping[str, Document]
    """The records of the documents in the ranking, by id."""
    passages: tuple[Hit, ...]
    """The hits of the ranking in their order, and other passages of these documents that fit about as well."""
    around: Mapping[str, Chunk] = field(default_factory=dict[str, Chunk])
    """The passages around the best ones, by id."""
    superseded: Mapping[str, Document] = field(default_factory=dict[str, Document])
    """The successors of documents that others superseded, by id."""
    day: str = ""
    """The day on which it is said whether documents hold."""


@dataclass(frozen=True, slots=True)
class TaggedDocument:
    """A document that has some of the tags, and its first passage."""

    document: Document
    beginning: Chunk | None


class Documents:
    """The documents of all owners: searched, read, ingested and removed."""

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
        newest_first: bool = False,
        part: LibraryPart = EVERY_PART,
    ) -> FoundDocuments:
        """Find the documents of a part that answer the query best.

        `room`: the characters of a passage that will be shown. `newest_first`: the newest of the documents that are
        about it, then the others.
        """
        parts, most = self.parts, AMONG if newest_first else limit
        day = part.as_of or datetime.now(UTC).date().isoformat()
        each = max(1, min(EACH, MOST // most))
        with _search_errors():
            named = time_named(query)
            when = NamedTime(*named, first_day) if named else None
            ranking = parts.search.find(
                owner, COLLECTION, query, limit=most, room=room, where=part.where, each=each, when=when
            )
            if not ranking.hits and (why := self.why_empty(owner, part)):
                ranking = replace(ranking, reason=why)
            best = {hit.chunk.document: hit for hit in reversed(ranking.hits)}
            hits = [hit for hit in ranking.hits if best[hit.chunk.document] is hit]
            least = FITS_TOO * max((hit.fits for hit in ranking.hits), default=0.0)
            further = [hit for hit in ranking.hits if best[hit.chunk.document] is not hit and hit.fits >= least]
            documents: Mapping[str, Document] = {}
            superseded: Mapping[str, Document] = {}
            with suppress(Unavailable):  # the passages are found all the same, only without their dates
                documents = parts.catalog.load(owner, [hit.chunk.document for hit in hits])
                superseded = parts.supersession.successors(owner, documents.values(), day)
            hits = without_listings(hits)
            if part.as_of:
                hits = [hit for hit in hits if (one := documents.get(hit.chunk.document)) is None or holds(one, day)]
            hits = after_successors(hits, superseded) if superseded else hits
            if newest_first:
                hits = _newest_first(hits, documents, recency_of(parts.library.cached(owner)))[:limit]
            passages = tuple(hits) if newest_first else _best_first(hits, further)
            # The passages around the best ones are wanted if those are so short that there is room.
            filled_up = min(room, FILLED_UP)
            ids = list(dict.fromkeys(id for hit in passages[:FILLED] for id in _beside(hit.chunk, filled_up)))
            around = parts.index.chunks(owner, COLLECTION, ids) if ids else {}
        saw(foreign_in(documents, (*(one.chunk for one in passages), *around.values())))
        saw_titles(superseded.values())
        return FoundDocuments(replace(ranking, hits=tuple(hits)), documents, passages, around, superseded, day)

    def with_tags(self, owner: Owner, part: LibraryPart, *, limit: int) -> tuple[list[TaggedDocument], int]:
        """The best documents with the tags of the part, and the number of all that have them."""
        every = self.parts.library.tagged(owner, part)
        found = every[:limit]
        chunks: dict[str, Chunk] = {}
        with suppress(Damaged):  # they are shown without their beginnings
            chunks = self.parts.index.chunks(owner, COLLECTION, [f"{one.id}#0" for one in found])
        saw(foreign_in({one.id: one for one in found}, chunks.values()))
        return [TaggedDocument(one, chunks.get(f"{one.id}#0")) for one in found], len(every)

    def all(self, owner: Owner) -> Collection[Document]:
        """All documents, in no order."""
        return self.parts.library.cached(owner)

    def newest(self, owner: Owner) -> list[Document]:
        """All documents, the newest first: by their dates, then by when they were ingested."""
        documents = self.all(owner)
        recency = recency_of(documents)
        return sorted(documents, key=lambda one: (recency.day(one), one.ingested_at, one.id), reverse=True)

    def is_empty(self, owner: Owner) -> bool:
        """True if the owner has no document."""
        return self.parts.library.is_empty(owner)

    def is_more_than(self, owner: Owner, number: int) -> bool:
        """True if the owner has, or may have, more documents than `number`. Reads no more of them."""
        return self.parts.library.is_more_than(owner, number)

    def undated(self, owner: Owner) -> int:
        """The number of documents that do not say their date: only the day of their last change is known."""
        return sum(one.date is None and one.date_from != "git" for one in self.parts.library.cached(owner))

    def directory(
        self, owner: Owner, part: LibraryPart, depth: int | None = None, *, with_documents: bool = False
    ) -> list[str]:
        """The folders with documents of the part, such as `docs/briefs/`, at most `depth` levels below its folder."""
        documents = part.of(self.parts.library.cached(owner))
        if with_documents:  # who wrote one chose its name
            saw_titles(documents)
        paths = [one.path for one in documents]
        return directory(paths, part.folder, depth, with_documents=with_documents) if paths else []

    def ids_of(self, owner: Owner, part: LibraryPart) -> frozenset[str] | None:
        """The ids of the documents in the part; None if it is the whole library."""
        if part == EVERY_PART:
            return None
        return frozenset(one.id for one in part.of(self.parts.library.cached(owner)))

    def why_empty(self, owner: Owner, part: LibraryPart = EVERY_PART) -> str | None:
        """The reason why nothing can be found in the part; None if it has documents."""
        if self.is_empty(owner):
            return EMPTY_LIBRARY
        return part.why_empty(self.parts.library.cached(owner)) if part != EVERY_PART else None

    def read(self, owner: Owner, name: str, *, remember: bool = True, is_shown: bool = True) -> DocumentText:
        """The text of a document as it is now. `remember`: reading lists then count it as read.

        `is_shown`: the answer has all of it. Otherwise who shows a part notes the texts of others in that.
        """
        text = self.parts.library.read(owner, name)
        if is_shown:
            saw(foreign_of(text.document))
        if remember:
            self.parts.recently_read.note(owner, text.document.id, text.sha256)
        return text

    def excerpt(self, text: DocumentText, request: ExcerptRequest) -> Excerpt:
        """The part of a document's text that is asked for."""
        return read_excerpt(text.text, request, self.parts.embedder.count, text.document.title)

    def outline(self, text: DocumentText) -> Excerpt:
        """The headings of a document with their lines."""
        return read_outline(text.text)

    def ingest(
        self,
        owner: Owner,
        paths: Sequence[str],
        progress: Progress = no_progress,
        confirm: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> IngestSummary:
        """Ingest files and folders of this machine: what is new, changed or gone since the last time.

        `confirm` is given the files that were found, and raises to stop it.
        """
        return self.parts.ingest.run(owner, paths, progress, confirm)

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


def _newest_first(hits: Sequence[Hit], documents: Mapping[str, Document], recency: Recency) -> list[Hit]:
    least = FITS_AS_WELL * max((hit.fits for hit in hits), default=0.0)

    def day(hit: Hit) -> str:
        document = documents.get(hit.chunk.document)
        return recency.day(document) if document else ""

    fitting = sorted((hit for hit in hits if hit.fits >= least), key=day, reverse=True)
    return [*fitting, *(hit for hit in hits if hit.fits < least)]


def _best_first(hits: Sequence[Hit], further: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits in their order, and each further passage of their documents where its score puts it."""
    placed: list[tuple[float, bool, Hit]] = []
    ceiling = 1.0
    for hit in hits:
        ceiling = min(ceiling, hit.score)
        placed.append((-ceiling, False, hit))
        more = [one for one in further if one.chunk.document == hit.chunk.document]
        placed += [(-min(ceiling, one.score), True, one) for one in more]
    # Of two with one score, the best passage of a document comes before a further passage of another.
    return tuple(hit for _, _, hit in sorted(placed, key=lambda one: one[:2]))


def _beside(chunk: Chunk, room: int) -> list[str]:
    """The ids of the passages around it: as many as may fit into the room if they are half as long as it is."""
    document, _, number = chunk.id.rpartition("#")
    each = min(MOST_BESIDE, 2 * (room - len(chunk.text)) // max(1, len(chunk.text)))
    first = int(number)
    return [f"{document}#{at}" for at in range(max(0, first - each), first + each + 1) if at != first]


@contextmanager
def _search_errors() -> Generator[None]:
    """A store that fails or is damaged fails the search, in the reference's words."""
    try:
        yield
    except (Unavailable, Misconfigured) as error:
        advice = f"{error.resolution}. `loci doctor` says what is wrong; `loci ingest` adds the documents again"
        raise type(error)(f"Search Error: Vector search failed: {error.what}", advice, code=error.code) from error
