"""The search pipeline: words and vectors, fused, then read ever more closely; and a report on how it went."""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.search.asked import Asked
from loci.search.candidates import CANDIDATES, Look
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder, QueryEmbedding, Reranker
from loci.search.language_stage import LanguageStage
from loci.search.late_interaction import averages, matches, reorder
from loci.search.names import documents_named
from loci.search.question import Question
from loci.search.ranking import (
    EVERYTHING,
    Candidate,
    Chunk,
    Hit,
    Ranking,
    StageLog,
    Where,
)
from loci.search.scored_passage import ScoredPassage, final_scores, judge, named_first, source_of, why_found, words_had
from loci.search.scoring import ALPHA, Fused, best_of_each, fuse, is_about_something_else, rarities, word_weights
from loci.search.snippet import snippet
from loci.search.words import knows_script, query_words

LATE = 32
"""Passages that go through late interaction."""
NAMED = 10
"""Passages, the best by words, that may have the question as the name of their document."""
T = TypeVar("T")
NEAREST = 3
"""Documents that the reason names if nothing fits."""
LONGEST_TITLE = 80
"""Characters of a title there."""


class Search:
    """One search for every collection: documents and files differ only in what is in the index."""

    def __init__(
        self,
        index: DocumentIndex,
        embedder: Embedder,
        reranker: Reranker,
        language_stage: LanguageStage,
        *,
        rerank_seconds: float,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._reranker = reranker
        self._language_stage = language_stage
        self._rerank_seconds = rerank_seconds

    def find(
        self,
        owner: Owner,
        collection: str,
        query: str | Asked,
        *,
        limit: int,
        room: int = 300,
        where: Where = EVERYTHING,
        each: int | None = 1,
        cuts: bool = True,
    ) -> Ranking:
        """The best passages, each shown in `room` characters.

        At most `each` of each of the `limit` best documents. With `each=None` the `limit` best of all passages.
        With `cuts=False` they are shown whole, for who cuts them otherwise.
        """
        log = StageLog()
        asked = Asked.plainly(query) if isinstance(query, str) else query
        query, words = asked.text, asked.words
        question = self._question(query, log)
        look = Look(self._index, owner, collection, asked, question, where)
        candidates = look.candidates(limit, each, log)
        embedding = question and question.embedding
        fused = fuse(candidates, ALPHA if embedding else 0.0)
        ranked = best_of_each(fused, each)
        if limit > CANDIDATES and len(set(words)) == 1:
            ranked = _with_the_word_first(ranked, candidates)
        ranked = ranked[: max(CANDIDATES, limit * (each or 1))]
        near = [one for one in fused if (one.candidate.lexical_rank or NAMED + 1) <= NAMED]
        wanted = dict.fromkeys(one.candidate.chunk for one in (*ranked, *near))
        chunks = self._index.chunks(owner, collection, list(wanted))
        found = _with_named(query, ranked, near, chunks, each)
        log.ran("words", f"{len(candidates)} passages of {len(found)} documents")
        had = words_had([*words, *query_words(query)], found)
        found = self._late(found, question, had, log)
        judge(words, had, found, embedding)
        nearest = max((one.cosine for one in candidates if one.cosine is not None), default=None)
        by_words = max((one.fits for one in found if one.fused.candidate.cosine is None), default=0.0)
        scale = embedding and embedding.scale
        if not found or is_about_something_else(max(one.fits for one in found), by_words, nearest, scale):
            return _nothing(query, words, where, found, log)
        found = named_first(self._reranked(query, found, log))
        scored = list(zip(found, final_scores(found), strict=True))
        deep = self._language_stage.depth(limit)
        hits = tuple(
            Hit(
                one.chunk,
                score,
                source_of(one, by_words=bool(words), by_vector=embedding is not None),
                snippet(one.chunk.text, words, room) if cuts else one.chunk.text,
                why_found(one),
                fits=one.fits,
            )
            for one, score in _of_the_best(scored, [one.chunk.document for one in found], deep, each)
        )
        first, further = _first_of_each(hits, each)
        read = self._language_stage.read(query, first, room=room)
        hits = (*read.hits, *further)
        shown = _of_the_best(hits, [hit.chunk.document for hit in hits], limit, each)
        return Ranking(query, tuple(shown), (*log.stages, read.stage), None, read.intent, read.analysis)

    def _question(self, query: str, log: StageLog) -> Question | None:
        """The question for the vector leg; None, with the reason in the log, if that leg cannot run."""
        try:
            model = self._embedder.model()
        except Unavailable as error:
            log.failed("vector", error)
            return None
        if model is None:
            log.skipped("vector", self._embedder.missing())
        elif not knows_script(model.scripts, query):
            log.skipped("vector", f"{model.identity} was not trained on this script")
        else:
            return Question(self._embedder, model, query)
        return None

    def _late(
        self,
        found: list[ScoredPassage],
        question: Question | None,
        had: Mapping[str, Collection[str]],
        log: StageLog,
    ) -> list[ScoredPassage]:
        embedding = question and question.embedding
        if question is None or embedding is None:
            log.skipped("late", "the question has no vector")
            return found
        log.start()
        first, rest = found[:LATE], found[LATE:]
        bits = [_bits(one.chunk, embedding.model) for one in first]
        best = matches(embedding.tokens, question.model.dimensions, bits)
        for one, value, read in zip(first, averages(best), bits, strict=True):
            one.closeness = value if read else None  # its vectors may not be computed yet
        order = reorder([one.fused.score for one in first], averages(best, _weights(question.query, embedding, had)))
        for rank, at in enumerate(order, 1):
            first[at].late = rank if bits[at] else None  # it was moved by its words alone
        log.ran("late", f"{len(first)} passages")
        return [first[at] for at in order] + rest

    def _reranked(self, query: str, found: list[ScoredPassage], log: StageLog) -> list[ScoredPassage]:
        try:
            model = self._reranker.model() if self._rerank_seconds > 0 else None
        except Unavailable as error:
            log.failed("rerank", error)
            return found
        if model is None:
            log.skipped("rerank", self._reranker.missing() if self._rerank_seconds > 0 else "it is switched off")
            return found
        if len(found) < 2:
            log.skipped("rerank", "there are fewer than two passages")
            return found
        log.start()
        texts = [_under_headings(one.chunk) for one in found[:CANDIDATES]]
        try:
            relevances = self._reranker.scores(query, texts, seconds=self._rerank_seconds)
        except Unavailable as error:
            log.failed("rerank", error)
            return found
        read, rest = found[: len(relevances)], found[len(relevances) :]
        for one, value in zip(read, relevances, strict=True):
            one.relevance = value
        read.sort(key=lambda one: -(one.relevance or 0.0))  # the sort is stable: equal scores keep their order
        for rank, one in enumerate(read, 1):
            one.rerank = rank
        log.ran("rerank", f"{model}: {len(read)} of {len(texts)} passages in {self._rerank_seconds:g} s")
        return read + rest


def _weights(query: str, embedding: QueryEmbedding, had: Mapping[str, Collection[str]]) -> list[float]:
    return word_weights(query, embedding.spans, rarities(query_words(query), had))


def _with_the_word_first(ranked: Sequence[Fused], candidates: Sequence[Candidate]) -> list[Fused]:
    """Put all documents that have the word before those only near it: a search for very many wants them all."""
    having = {one.document for one in candidates if one.lexical_rank is not None}
    return sorted(ranked, key=lambda one: one.candidate.document not in having)


def _of_the_best(ranked: Sequence[T], documents: Sequence[str], limit: int, each: int | None) -> list[T]:
    """Those of the `limit` best documents, or the `limit` best of all. `documents` says which one each is of."""
    if each is None:
        return list(ranked[:limit])
    best = set(list(dict.fromkeys(documents))[:limit])
    return [one for one, document in zip(ranked, documents, strict=True) if document in best]


def _first_of_each(hits: Sequence[Hit], each: int | None) -> tuple[list[Hit], list[Hit]]:
    """The best passage of each document, and the others. All are first ones if passages are asked for."""
    if each is None:
        return list(hits), []
    best = {hit.chunk.document: hit for hit in reversed(hits)}
    further = [hit for hit in hits if best[hit.chunk.document] is not hit]
    return [hit for hit in hits if best[hit.chunk.document] is hit], further


def _with_named(
    query: str, ranked: Sequence[Fused], near: Sequence[Fused], chunks: Mapping[str, Chunk], each: int | None
) -> list[ScoredPassage]:
    """The ranked passages, and those `near` whose document has the question as its name."""
    named = documents_named(query, chunks.values())
    if named:
        also = [one for one in near if one.candidate.document in named]
        ranked = best_of_each(dict.fromkeys([*ranked, *also]), each)
    # A chunk may have been removed since it was found.
    found = [ScoredPassage(one, chunks[one.candidate.chunk]) for one in ranked if one.candidate.chunk in chunks]
    for one in found:  # the best passage of each named document
        one.named = named.pop(one.chunk.document, None)
    return found


def _bits(chunk: Chunk, model: str) -> bytes:
    return chunk.embedding.bits if chunk.embedding and chunk.embedding.model == model else b""


def _under_headings(chunk: Chunk) -> str:
    """The passage under its headings, as the reranker reads it."""
    return "\n".join([" > ".join(chunk.heading), chunk.text]) if chunk.heading else chunk.text


def _nothing(query: str, words: Sequence[str], where: Where, found: Sequence[ScoredPassage], log: StageLog) -> Ranking:
    log.skipped("rerank", "there are no passages")
    log.skipped("language_model", "there are no hits")
    return Ranking(query, (), tuple(log.stages), _reason(words, where, found))


def _reason(words: Sequence[str], where: Where, found: Sequence[ScoredPassage]) -> str:
    which = "document" if where == EVERYTHING else "document that fits the conditions"
    if found:
        titles: dict[str, str] = {}
        for one in found:
            titles.setdefault(one.chunk.document, one.chunk.title[:LONGEST_TITLE])
        near = ", ".join(f'"{title}" ({document})' for document, title in list(titles.items())[:NEAREST])
        best = max(one.fits for one in found)
        return f"No {which} is about it: {best:.2f} is the best score. The nearest are {near}"
    if not words:
        return "The question has no word to search for"
    return f"No {which} has any of the question's words, or is near it"
