"""Words and vectors, fused, then read ever more closely: what answers a question best, and how it was found."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.search.asking import Asking
from loci.search.coverage import coverage
from loci.search.document_index import DocumentIndex
from loci.search.embedding_model import QueryEmbedding
from loci.search.fusion import ALPHA, Fused, best_of_each, fuse
from loci.search.inference import Embedder, Reranker
from loci.search.language_stage import Reader
from loci.search.late_interaction import closeness, reorder
from loci.search.ranking import EVERYTHING, Candidate, Chunk, Explanation, Hit, Ranking, Where
from loci.search.relevance import falling, least, relevance
from loci.search.scripts import is_known
from loci.search.snippet import snippet
from loci.search.steps import Steps
from loci.search.words import query_words

CANDIDATES = 50
"""Of each leg, whatever the limit: who asks for three gets the best three of these."""
LATE = 32
"""Passages whose words are compared with the question's."""
NEAREST = 3
"""That are named where nothing fits."""


@dataclass(slots=True)
class _Found:
    """A document's best passage on its way through the steps."""

    fused: Fused
    chunk: Chunk
    closeness: float | None = None
    fits: float = 0.0
    """By what was read of it before the cross-encoder."""
    late: int | None = None
    relevance: float | None = None
    rerank: int | None = None


class Search:
    """One search for every collection: documents and files differ in what was put into the index."""

    def __init__(
        self,
        index: DocumentIndex,
        embedder: Embedder,
        reranker: Reranker,
        reader: Reader,
        *,
        rerank_seconds: float,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._reranker = reranker
        self._reader = reader
        self._rerank_seconds = rerank_seconds
        self._clock = clock

    def find(
        self,
        owner: Owner,
        collection: str,
        query: str,
        *,
        limit: int,
        room: int = 300,
        where: Where = EVERYTHING,
        one_each: bool = True,
    ) -> Ranking:
        """The best passage of each of the `limit` best documents, or with `one_each=False` the best passages of all.

        Each is shown in `room` characters.
        """
        log = Steps(self._clock)
        words = query_words(query)
        asking = self._asking(query, log)
        candidates = self._candidates(owner, collection, words, where, asking, log)
        asked = asking and asking.made
        fused = fuse(candidates, ALPHA if asked else 0.0)
        ranked = (best_of_each(fused) if one_each else fused)[: max(CANDIDATES, limit)]
        chunks = self._index.chunks(owner, collection, [one.candidate.chunk for one in ranked])
        # One that has gone since it was found is not shown.
        found = [_Found(one, chunks[one.candidate.chunk]) for one in ranked if one.candidate.chunk in chunks]
        log.ran("words", f"{len(candidates)} passages of {len(found)} documents")
        found = self._late(found, asking, log)
        _judge(words, found, asked)
        if max((one.fits for one in found), default=0.0) < least(asked and asked.scale):
            return _nothing(query, words, where, found, log)
        found = self._reranked(query, found, log)
        hits = tuple(
            Hit(
                one.chunk,
                score,
                _source(one, by_words=bool(words), by_vector=asked is not None),
                snippet(one.chunk.text, words, room),
                _why(one),
            )
            for one, score in zip(found[: self._reader.depth(limit)], _scores(found), strict=False)
        )
        reading = self._reader.read(query, hits, room=room)
        return Ranking(
            query,
            reading.hits[:limit],
            (*log.stages, reading.stage),
            None,
            reading.intent,
            reading.analysis,
        )

    def _candidates(
        self, owner: Owner, collection: str, words: Sequence[str], where: Where, asking: Asking | None, log: Steps
    ) -> list[Candidate]:
        """By words and, if the model answers, by the vector."""
        log.start()
        try:
            vector = asking and asking.vector
            found = self._index.candidates(owner, collection, words, vector, limit=CANDIDATES, where=where)
        except Unavailable:
            if asking is None or asking.failed is None:
                raise
            log.skipped("vector", str(asking.failed))
            return self._index.candidates(owner, collection, words, None, limit=CANDIDATES, where=where)
        if asking and asking.made:
            log.took("vector", asking.ms, asking.model.identity)
        return found

    def _asking(self, query: str, log: Steps) -> Asking | None:
        model = self._embedder.model()
        if model is None:
            log.skipped("vector", self._embedder.missing())
        elif not is_known(query, model.scripts):
            log.skipped("vector", f"{model.identity} was not taught this script")
        else:
            return Asking(self._embedder, model, query, self._clock)
        return None

    def _late(self, found: list[_Found], asking: Asking | None, log: Steps) -> list[_Found]:
        asked = asking and asking.made
        if asking is None or asked is None:
            log.skipped("late", "there is no vector of the question")
            return found
        log.start()
        first, rest = found[:LATE], found[LATE:]
        bits = [_bits(one.chunk, asked.model) for one in first]
        near = closeness(asked.tokens, asking.model.dimensions, bits)
        for one, value, read in zip(first, near, bits, strict=True):
            one.closeness = value if read else None  # its vectors may not be made yet
        order = reorder([one.fused.score for one in first], near)
        for rank, at in enumerate(order, 1):
            first[at].late = rank
        log.ran("late", f"{len(first)} passages")
        return [first[at] for at in order] + rest

    def _reranked(self, query: str, found: list[_Found], log: Steps) -> list[_Found]:
        model = self._reranker.model() if self._rerank_seconds > 0 else None
        if model is None:
            log.skipped("rerank", self._reranker.missing() if self._rerank_seconds > 0 else "it is switched off")
            return found
        if len(found) < 2:
            log.skipped("rerank", "there is nothing to put in order")
            return found
        log.start()
        texts = [_read(one.chunk) for one in found[:CANDIDATES]]
        try:
            relevances = self._reranker.scores(query, texts, seconds=self._rerank_seconds)
        except Unavailable as error:
            log.skipped("rerank", str(error))
            return found
        read, rest = found[: len(relevances)], found[len(relevances) :]
        for one, value in zip(read, relevances, strict=True):
            one.relevance = value
        read.sort(key=lambda one: -(one.relevance or 0.0))  # stable: equals keep their order
        for rank, one in enumerate(read, 1):
            one.rerank = rank
        log.ran("rerank", f"{model}: {len(read)} of {len(texts)} passages in {self._rerank_seconds:g} s")
        return read + rest


def _judge(words: Sequence[str], found: Sequence[_Found], asked: QueryEmbedding | None) -> None:
    had = coverage(words, {one.chunk.id: _had(words, one.chunk) for one in found})
    for one in found:
        one.fits = relevance(one.closeness, asked and asked.scale, had[one.chunk.id])


def _had(words: Sequence[str], chunk: Chunk) -> list[str]:
    said = f" {chunk.words} "
    return [word for word in words if f" {word} " in said]


def _scores(found: Sequence[_Found]) -> list[float]:
    """In order. Who was not reached by the reranker is not above who was."""
    read = [one.relevance for one in found if one.relevance is not None]
    ceiling = min(read, default=1.0)
    rest = falling([min(one.fits, ceiling) for one in found[len(read) :]])
    return [round(min(max(score, 0.0), 1.0), 4) for score in (*read, *rest)]


def _source(one: _Found, *, by_words: bool, by_vector: bool) -> str:
    legs = "hybrid" if by_words and by_vector else "vector" if by_vector else "bm25"
    if one.rerank is None:
        return legs
    return "vector+rerank" if by_vector else f"{legs}+rerank"


def _why(one: _Found) -> Explanation:
    found = one.fused.candidate
    return Explanation(
        words=found.lexical_rank,
        vector=found.vector_rank,
        fused=one.fused.rank,
        late=one.late,
        rerank=one.rerank,
        bm25=found.bm25,
        cosine=found.cosine,
        closeness=one.closeness,
        relevance=one.relevance,
    )


def _bits(chunk: Chunk, model: str) -> bytes:
    return chunk.embedding.bits if chunk.embedding and chunk.embedding.model == model else b""


def _read(chunk: Chunk) -> str:
    """What the reranker reads: the passage under its headings."""
    return "\n".join([" > ".join(chunk.heading), chunk.text]) if chunk.heading else chunk.text


def _nothing(query: str, words: Sequence[str], where: Where, found: Sequence[_Found], log: Steps) -> Ranking:
    log.skipped("rerank", "there is nothing to put in order")
    log.skipped("language_model", "there is nothing to read")
    return Ranking(query, (), tuple(log.stages), _reason(words, where, found))


def _reason(words: Sequence[str], where: Where, found: Sequence[_Found]) -> str:
    which = "document" if where == EVERYTHING else "document that fits the conditions"
    if found:
        near = ", ".join(dict.fromkeys(one.chunk.document for one in found[:NEAREST]))
        best = max(one.fits for one in found)
        return f"No {which} is about it: {best:.2f} is the best score. The nearest are {near}"
    if not words:
        return "The question has no word to look for"
    return f"No {which} has any of the question's words, or is near it"
