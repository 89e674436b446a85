"""Looks a question up by words and by the vector, and again if a few long documents crowd the others out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.search.asked import Asked
from loci.search.document_index import DocumentIndex
from loci.search.names import name_word
from loci.search.question import Question
from loci.search.ranking import Candidate, StageLog, Where

CANDIDATES = 50
"""Candidates of each leg, whatever the limit: a request for three gets the best three of these."""
MORE_ROUNDS = 2
"""Further looks at the index if a few documents have all the candidates."""
ROUNDS_FOR_ALL = 12
"""The same for who asks for more than `CANDIDATES`, and so for all that there is."""


@dataclass(frozen=True, slots=True)
class Look:
    """One lookup: its words or vector, and the collections it covers."""

    index: DocumentIndex
    owner: Owner
    collection: str
    asked: Asked
    question: Question | None
    """None: the vector leg cannot run."""
    where: Where

    def candidates(self, limit: int, each: int | None, log: StageLog) -> list[Candidate]:
        """Candidates from `limit` documents, if that many fit: no document with more than `each` hides the others."""
        log.start()
        wants_all = limit > CANDIDATES
        most = 2 * limit if wants_all else CANDIDATES
        found = newest = self._first(most, log)
        for _ in range(ROUNDS_FOR_ALL if wants_all else MORE_ROUNDS):
            by_words, by_vector = (sum(rank is not None for rank in leg) >= most for leg in _ranks(newest))
            having = {one.document for one in found if one.lexical_rank is not None}
            if wants_all and each and by_words and len(having) < limit:
                hiding = having
            else:
                counts = Counter(one.document for one in found)
                is_enough = len(counts) >= limit or not (by_words or by_vector)
                hiding = {one for one, count in counts.items() if each and count > each and not is_enough}
            if not hiding:
                break
            others = replace(self.where, no_documents=(*self.where.no_documents, *sorted(hiding)))
            newest = self._found(others, most)
            found = _together(found, [_later(one, most) for one in newest])
        return found

    def _first(self, most: int, log: StageLog) -> list[Candidate]:
        question = self.question
        try:
            found = self._found(self.where, most)
        except Unavailable:
            if question is None or question.failure is None:
                raise
            log.failed("vector", question.failure)
            return self._found(self.where, most)
        if question and question.embedding:
            log.took("vector", question.ms, question.model.identity)
        return found

    def _found(self, where: Where, most: int) -> list[Candidate]:
        vector = self.question.vector if self.question and self.question.failure is None else None
        name = name_word(self.asked.text)
        words = [*self.asked.words, name] if name else self.asked.words
        return self.index.candidates(self.owner, self.collection, words, vector, limit=most, where=where)


def _together(found: Sequence[Candidate], later: Sequence[Candidate]) -> list[Candidate]:
    """All of both. A chunk that the vector found first may have been found by its words since."""
    every = {one.chunk: one for one in found}
    for one in later:
        first = every.setdefault(one.chunk, one)
        if first.lexical_rank is None and one.lexical_rank is not None:
            every[one.chunk] = replace(first, bm25=one.bm25, lexical_rank=one.lexical_rank)
    return list(every.values())


def _ranks(found: Sequence[Candidate]) -> tuple[list[int | None], list[int | None]]:
    return [one.lexical_rank for one in found], [one.vector_rank for one in found]


def _later(one: Candidate, most: int) -> Candidate:
    """The candidate, ranked behind those of the look before."""
    lexical, nearest = (rank and rank + most for rank in (one.lexical_rank, one.vector_rank))
    return replace(one, lexical_rank=lexical, vector_rank=nearest)
