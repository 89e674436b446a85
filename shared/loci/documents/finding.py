"""Finds documents by a question, with their records: the best first, or the newest of those that fit."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from loci.core.errors import Misconfigured, Unavailable
from loci.core.identity import Owner
from loci.documents.document import Document
from loci.documents.filtering import EVERY_PART, Part
from loci.documents.ingest.index_writer import COLLECTION
from loci.documents.parts import DocumentParts
from loci.documents.recency import recency_of
from loci.documents.unknown_names import EMPTY_LIBRARY
from loci.search.filling import FILLED_UP, beside
from loci.search.ranking import EVERYTHING, Chunk, Hit, Ranking, Where
from loci.search.snippet import snippet
from loci.search.words import query_words

AMONG = 300
"""The newest are chosen from so many documents, the best for the question."""
FITS_AS_WELL = 0.5
"""A document with this share of the best score is about the question, too."""
EACH, MOST = 5, 60
"""Passages of one document, and of all: a document may answer several parts of a question."""
FITS_TOO = 0.7
"""A further passage of a document is shown if it fits so well, as a share of the best of all. On talks of months, at
five documents, that holds 2 % less of the evidence than all of them, in a quarter less bytes."""
FILLED = 16
"""Passages, the best, to which what stands around them is fetched: an answer has no room for more whole ones."""


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """The answer to a question."""

    ranking: Ranking
    """Its hits are the best passage of each document."""
    documents: Mapping[str, Document]
    """The records of the documents in the ranking, by id."""
    further: Mapping[str, tuple[Hit, ...]] = field(default_factory=dict[str, tuple[Hit, ...]])
    """Other passages of a document that fit about as well, best first, by the document's id."""
    around: Mapping[str, Chunk] = field(default_factory=dict[str, Chunk])
    """The passages around the best ones, by id."""

    def best_first(self) -> list[Hit]:
        """All passages: those of the ranking in its order, and each further one where its score has its place."""
        placed: list[tuple[float, bool, Hit]] = []
        ceiling = 1.0
        for hit in self.ranking.hits:
            ceiling = min(ceiling, hit.score)
            placed.append((-ceiling, False, hit))
            placed += [(-min(ceiling, one.score), True, one) for one in self.further.get(hit.chunk.document, ())]
        return [hit for _, _, hit in sorted(placed, key=lambda one: one[:2])]  # a new document before more of one


def find_documents(
    parts: DocumentParts,
    owner: Owner,
    query: str,
    *,
    limit: int,
    room: int,
    where: Where = EVERYTHING,
    newest_first: bool = False,
    part: Part = EVERY_PART,
) -> FoundDocuments:
    """The documents of a part that answer the query best, each with a snippet of at most `room` characters.

    `newest_first`: the newest of the documents that are about it, then the others.
    """
    with _search_errors():
        found = _ranked(parts, owner, query, AMONG if newest_first else limit, room, where, part)
        if newest_first:
            hits = _newest_first(parts, owner, found)
            found = replace(found, ranking=replace(found.ranking, hits=hits[:limit]))
        # The passages around the best ones are wanted if those are so short that there is room.
        best = found.best_first()[:FILLED]
        wanted = dict.fromkeys(id for hit in best for id in beside(hit.chunk, min(room, FILLED_UP)))
        return replace(found, around=parts.index.chunks(owner, COLLECTION, list(wanted)) if wanted else {})


def _newest_first(parts: DocumentParts, owner: Owner, found: FoundDocuments) -> tuple[Hit, ...]:
    hits, recency = found.ranking.hits, recency_of(parts.library.cached(owner))
    least = FITS_AS_WELL * max((hit.score for hit in hits), default=0.0)

    def day(hit: Hit) -> str:
        document = found.documents.get(hit.chunk.document)
        return recency.day(document) if document else ""

    fitting = sorted((hit for hit in hits if hit.score >= least), key=day, reverse=True)
    return (*fitting, *(hit for hit in hits if hit.score < least))


def _ranked(
    parts: DocumentParts, owner: Owner, query: str, limit: int, room: int, where: Where, part: Part
) -> FoundDocuments:
    """The documents in the order of the search, with their records."""
    marks = part.marks
    where = replace(where, all_tags=(*where.all_tags, *marks)) if marks else where
    each = max(1, min(EACH, MOST // limit))
    ranking = parts.search.find(owner, COLLECTION, query, limit=limit, room=room, where=where, each=each, cuts=False)
    if not ranking.hits and parts.library.is_empty(owner):
        ranking = replace(ranking, reason=EMPTY_LIBRARY)
    elif not ranking.hits and marks and (why := part.why_empty(parts.library.cached(owner))):
        ranking = replace(ranking, reason=why)
    words = query_words(query)
    best: dict[str, Hit] = {}
    further: dict[str, tuple[Hit, ...]] = {}
    least = FITS_TOO * max((hit.fits for hit in ranking.hits), default=0.0)
    for hit in ranking.hits:
        document = hit.chunk.document
        if document not in best:
            best[document] = replace(hit, snippet=snippet(hit.snippet, words, room))
        elif hit.fits >= least:
            further[document] = (*further.get(document, ()), hit)
    records: Mapping[str, Document] = {}
    with suppress(Unavailable):  # the passages are found all the same, only without their dates
        records = parts.catalog.some(owner, list(best))
    return FoundDocuments(replace(ranking, hits=tuple(best.values())), records, further)


@contextmanager
def _search_errors() -> Generator[None]:
    """A store that fails or is damaged fails the search, in the reference's words."""
    try:
        yield
    except (Unavailable, Misconfigured) as error:
        advice = f"{error.resolution}. `loci doctor` says what is wrong; `loci ingest` adds the documents again"
        raise type(error)(f"Search Error: Vector search failed: {error.what}", advice, code=error.code) from error
