"""Words and vectors, fused, then read ever more closely: what answers a question best, and how it was found."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from loci.errors import Unavailable
from loci.model.identity import Owner
from loci.model.inference import EmbeddingModel, QueryEmbedding
from loci.model.search import Chunk, Explanation, Hit, Ranking, Stage, StageName, Vector, Where
from loci.ports import DocumentIndex, Embedder, Reranker
from loci.search.coverage import coverage
from loci.search.fusion import ALPHA, Fused, best_of_each, fuse
from loci.search.late import closeness, reorder
from loci.search.reading import Reader
from loci.search.scripts import is_known
from loci.search.snippet import snippet
from loci.search.words import query_words

CANDIDATES = 50
"""Of each leg, whatever the limit: who asks for three gets the best three of these."""
EVERYTHING = Where()


@dataclass(slots=True)
class _Found:
    """A document's best passage on its way through the steps."""

    fused: Fused
    chunk: Chunk
    closeness: float | None = None
    late: int | None = None
    relevance: float | None = None
    rerank: int | None = None


@dataclass(slots=True)
class _Log:
    """The steps so far, each with its time."""

    clock: Callable[[], float]
    stages: list[Stage] = field(default_factory=list[Stage])
    began: float = 0.0

    def start(self) -> None:
        self.began = self.clock()

    def ran(self, name: StageName, note: str) -> None:
        self.stages.append(Stage(name, True, round((self.clock() - self.began) * 1000, 2), note))

    def skipped(self, name: StageName, why: str) -> None:
        self.stages.append(Stage(name, False, 0.0, why))


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
        log = _Log(self._clock)
        words = query_words(query)
        model, asked = self._embedded(query, log)
        log.start()
        vector = Vector(asked.model, asked.vector) if asked else None
        candidates = self._index.candidates(owner, collection, words, vector, limit=CANDIDATES, where=where)
        fused = fuse(candidates, ALPHA if asked else 0.0)
        ranked = best_of_each(fused) if one_each else fused
        chunks = self._index.chunks(owner, collection, [one.candidate.chunk for one in ranked])
        # One that has gone since it was found is not shown.
        found = [_Found(one, chunks[one.candidate.chunk]) for one in ranked if one.candidate.chunk in chunks]
        log.ran("words", f"{len(candidates)} passages of {len(found)} documents")
        found = self._late(found, model, asked, log)
        found = self._reranked(query, found, log)
        scores = _scores(words, found)
        hits = tuple(
            Hit(
                one.chunk,
                scores[one.chunk.id],
                _source(one, by_words=bool(words), by_vector=asked is not None),
                snippet(one.chunk.text, words, room),
                _why(one),
            )
            for one in found[: self._reader.depth(limit)]
        )
        reading = self._reader.read(query, hits, room=room)
        return Ranking(
            query,
            reading.hits[:limit],
            (*log.stages, reading.stage),
            None if hits else _reason(words, where),
            reading.intent,
            reading.analysis,
        )

    def _embedded(self, query: str, log: _Log) -> tuple[EmbeddingModel | None, QueryEmbedding | None]:
        log.start()
        model = self._embedder.model()
        if model is None:
            log.skipped("vector", "no model is here yet: `loci models pull` brings one")
            return None, None
        if not is_known(query, model.scripts):
            log.skipped("vector", f"{model.identity} was not taught this script")
            return model, None
        try:
            asked = self._embedder.query(query)
        except Unavailable as error:
            log.skipped("vector", str(error))
            return model, None
        log.ran("vector", model.identity)
        return model, asked

    def _late(
        self, found: list[_Found], model: EmbeddingModel | None, asked: QueryEmbedding | None, log: _Log
    ) -> list[_Found]:
        if model is None or asked is None:
            log.skipped("late", "there is no vector of the question")
            return found
        log.start()
        first, rest = found[:CANDIDATES], found[CANDIDATES:]
        bits = [_bits(one.chunk, asked.model) for one in first]
        near = closeness(asked.tokens, model.dimensions, bits)
        for one, value in zip(first, near, strict=True):
            one.closeness = value
        order = reorder([one.fused.score for one in first], near)
        for rank, at in enumerate(order, 1):
            first[at].late = rank
        log.ran("late", f"{len(first)} passages")
        return [first[at] for at in order] + rest

    def _reranked(self, query: str, found: list[_Found], log: _Log) -> list[_Found]:
        model = self._reranker.model() if self._rerank_seconds > 0 else None
        if model is None:
            why = (
                "no model is here: `loci models pull` brings one" if self._rerank_seconds > 0 else "it is switched off"
            )
            log.skipped("rerank", why)
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
        for one, relevance in zip(read, relevances, strict=True):
            one.relevance = relevance
        read.sort(key=lambda one: -(one.relevance or 0.0))  # stable: equals keep their order
        for rank, one in enumerate(read, 1):
            one.rerank = rank
        log.ran("rerank", f"{model}: {len(read)} of {len(texts)} passages in {self._rerank_seconds:g} s")
        return read + rest


def _scores(words: Sequence[str], found: Sequence[_Found]) -> dict[str, float]:
    """For each chunk what was read most closely. Who was not reached by the reranker is not above who was."""
    had = coverage(words, {one.chunk.id: frozenset(one.chunk.words.split()) for one in found})
    ceiling, scores = 1.0, dict[str, float]()
    for one in found:
        near = one.closeness if one.closeness is not None else one.fused.candidate.cosine
        score = one.relevance if one.relevance is not None else had[one.chunk.id] if near is None else near
        if one.relevance is not None:
            ceiling = min(ceiling, one.relevance)
        scores[one.chunk.id] = round(min(max(score, 0.0), 1.0 if one.relevance is not None else ceiling), 4)
    return scores


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


def _reason(words: Sequence[str], where: Where) -> str:
    if not words:
        return "The question has no word to look for"
    if where != EVERYTHING:
        return "No document that fits the conditions has any of the question's words, or is near it"
    return "No document has any of the question's words, or is near it"
