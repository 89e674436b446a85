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
        found = newest = self._first(log)
        for _ in range(MORE_ROUNDS):
            counts = Counter(one.document for one in found)
            crowding = [document for document, count in counts.items() if each and count > each]
            if not crowding or len(counts) >= limit or not _is_full(newest):
                break
            newest = self._found(replace(self.where, no_documents=(*self.where.no_documents, *crowding)))
            known = {one.chunk for one in found}
            found = [*found, *(_later(one) for one in newest if one.chunk not in known)]
        return found

    def _first(self, log: StageLog) -> list[Candidate]:
        question = self.question
        try:
            found = self._found(self.where)
        except Unavailable:
            if question is None or question.failure is None:
                raise
            log.skipped("vector", str(question.failure))
            return self._found(self.where)
        if question and question.embedding:
            log.took("vector", question.ms, question.model.identity)
        return found

    def _found(self, where: Where) -> list[Candidate]:
        vector = self.question.vector if self.question and self.question.failure is None else None
        name = name_word(self.asked.text)
        words = [*self.asked.words, name] if name else self.asked.words
        return self.index.candidates(self.owner, self.collection, words, vector, limit=CANDIDATES, where=where)


def _is_full(found: Sequence[Candidate]) -> bool:
    """True if one of the legs gave as many as it was asked for, so that there may be more."""
    ranks = ([one.lexical_rank for one in found], [one.vector_rank for one in found])
    return any(sum(rank is not None for rank in leg) >= CANDIDATES for leg in ranks)


def _later(one: Candidate) -> Candidate:
    """The candidate, ranked behind those of the look before."""
    lexical, nearest = (rank and rank + CANDIDATES for rank in (one.lexical_rank, one.vector_rank))
    return replace(one, lexical_rank=lexical, vector_rank=nearest)
