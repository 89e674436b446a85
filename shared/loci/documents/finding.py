"""Finds documents by a question, with their records: the best first, or the newest of those that fit."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from loci.core.errors import Misconfigured, Unavailable
from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.filtering import EVERY_PART, Part
from loci.documents.ingest.index_writer import COLLECTION
from loci.documents.library import Library
from loci.documents.unknown_names import EMPTY_LIBRARY
from loci.search.ranking import EVERYTHING, Hit, Ranking, Where
from loci.search.search import Search

AMONG = 300
"""The newest are chosen from so many documents, the best for the question."""
FITS_AS_WELL = 0.5
"""A document with this share of the best score is about the question, too."""


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """The answer to a question."""

    ranking: Ranking
    documents: Mapping[str, Document]
    """The records of the documents in the ranking, by id."""


@dataclass(frozen=True, slots=True)
class DocumentFinder:
    """Searches the documents of each owner."""

    engine: Search
    library: Library
    catalog: Catalog

    def best(
        self, owner: Owner, query: str, *, limit: int, room: int, where: Where = EVERYTHING, part: Part = EVERY_PART
    ) -> FoundDocuments:
        """The documents that answer the query best, each with a snippet of at most `room` characters."""
        with _search_errors():
            return self._with_records(owner, self._ranked(owner, query, limit, room, where, part))

    def newest(
        self, owner: Owner, query: str, *, limit: int, room: int, where: Where = EVERYTHING, part: Part = EVERY_PART
    ) -> FoundDocuments:
        """The newest of the documents that are about it, then the others."""
        with _search_errors():
            found = self._with_records(owner, self._ranked(owner, query, AMONG, room, where, part))
        hits = found.ranking.hits
        least = FITS_AS_WELL * max((hit.score for hit in hits), default=0.0)

        def day(hit: Hit) -> str:
            document = found.documents.get(hit.chunk.document)
            return document.day if document else ""

        fitting = sorted((hit for hit in hits if hit.score >= least), key=day, reverse=True)
        others = [hit for hit in hits if hit.score < least]
        return replace(found, ranking=replace(found.ranking, hits=(*fitting, *others)[:limit]))

    def _ranked(self, owner: Owner, query: str, limit: int, room: int, where: Where, part: Part) -> Ranking:
        marks = part.marks
        where = replace(where, all_tags=(*where.all_tags, *marks)) if marks else where
        found = self.engine.find(owner, COLLECTION, query, limit=limit, room=room, where=where)
        if not found.hits and self.library.is_empty(owner):
            return replace(found, reason=EMPTY_LIBRARY)
        if not found.hits and marks and (why := part.why_empty(self.library.cached(owner))):
            return replace(found, reason=why)
        return found

    def _with_records(self, owner: Owner, ranking: Ranking) -> FoundDocuments:
        try:
            records = self.catalog.some(owner, [hit.chunk.document for hit in ranking.hits])
        except Unavailable:  # the passages are found all the same, only without their dates
            records = {}
        return FoundDocuments(ranking, records)


@contextmanager
def _search_errors() -> Generator[None]:
    """A store that fails or is damaged fails the search, in the reference's words."""
    try:
        yield
    except (Unavailable, Misconfigured) as error:
        advice = f"{error.resolution}. `loci doctor` says what is wrong; `loci ingest` adds the documents again"
        raise type(error)(f"Search Error: Vector search failed: {error.what}", advice, code=error.code) from error
