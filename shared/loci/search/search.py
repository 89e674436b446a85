"""The search pipeline: words and vectors, fused, then read ever more closely; and a report on how it went."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder, QueryEmbedding, Reranker
from loci.search.language_stage import LanguageStage
from loci.search.late_interaction import averages, matches, reorder
from loci.search.names import documents_named, name_word
from loci.search.question import Asked, QuestionVector
from loci.search.ranking import EVERYTHING, Candidate, Chunk, Explanation, Hit, Ranking, StageLog, Where
from loci.search.scoring import (
    ALPHA,
    Fused,
    best_of_each,
    coverage,
    fuse,
    is_about_something_else,
    never_rising,
    rarities,
    relevance,
    word_weights,
)
from loci.search.snippet import snippet
from loci.search.words import knows_script, query_words

CANDIDATES = 50
"""Candidates of each leg, whatever the limit: a request for three gets the best three of these."""
MORE_ROUNDS = 2
"""Further looks at the index if a few documents have all the candidates."""
ROUNDS_FOR_ALL = 12
"""The same for who asks for more than `CANDIDATES`, and so for all that there is."""
LATE = 32
"""Passages that go through late interaction."""
NAMED = 10
"""Passages, the best by words, that may have the question as the name of their document."""
T = TypeVar("T")
NEAREST = 3
"""Documents that the reason names if nothing fits."""
LONGEST_TITLE = 80
"""Characters of a title there."""


@dataclass(slots=True)
class ScoredPassage:
    """A passage on its way through the stages, with the scores so far."""

    fused: Fused
    chunk: Chunk
    closeness: float | None = None
    fits: float = 0.0
    """Its relevance before the cross-encoder has read it."""
    late: int | None = None
    relevance: float | None = None
    rerank: int | None = None
    named: int | None = None
    """The degree to which the question is the name of its document; None if it is not."""


@dataclass(frozen=True, slots=True)
class Look:
    """One lookup: its words or vector, and the collections it covers."""

    index: DocumentIndex
    owner: Owner
    collection: str
    asked: Asked
    question: QuestionVector | None
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

    def _question(self, query: str, log: StageLog) -> QuestionVector | None:
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
            return QuestionVector(self._embedder, model, query)
        return None

    def _late(
        self,
        found: list[ScoredPassage],
        question: QuestionVector | None,
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


def named_first(found: Sequence[ScoredPassage]) -> list[ScoredPassage]:
    """The documents that the question names, then the others in their order."""
    named = sorted((one for one in found if one.named is not None), key=lambda one: one.named or 0)
    return [*named, *(one for one in found if one.named is None)]


def judge(
    words: Sequence[str],
    had: Mapping[str, Collection[str]],
    found: Sequence[ScoredPassage],
    embedding: QueryEmbedding | None,
) -> None:
    """Set how well each passage fits. `had` says which words it has."""
    covered = coverage(words, had)
    for one in found:
        fits = relevance(one.closeness, embedding and embedding.scale, covered[one.chunk.id])
        one.fits = fits if one.named is None else 1.0


def words_had(words: Sequence[str], found: Sequence[ScoredPassage]) -> dict[str, list[str]]:
    """Which of the words each passage has, by the id of its chunk."""
    apart = _apart(words)
    return {one.chunk.id: _those_in(apart, one.chunk) for one in found}


def words_in(words: Sequence[str], chunk: Chunk) -> list[str]:
    """Those of the words that the passage has, each once."""
    return _those_in(_apart(words), chunk)


def _apart(words: Sequence[str]) -> list[tuple[str, str]]:
    """Each word once, and as it stands among others."""
    return [(word, f" {word} ") for word in dict.fromkeys(words)]


def _those_in(apart: Sequence[tuple[str, str]], chunk: Chunk) -> list[str]:
    text = f" {chunk.words} "
    return [word for word, spaced in apart if spaced in text]


def final_scores(found: Sequence[ScoredPassage]) -> list[float]:
    """The final scores, in order: what the question names, what the reranker read, and the rest, never above that."""
    named, others = [one.fits for one in found if one.named is not None], [one for one in found if one.named is None]
    read = [one.relevance for one in others if one.relevance is not None]
    ceiling = min(read, default=1.0)
    rest = never_rising([min(one.fits, ceiling) for one in others[len(read) :]])
    return [round(min(max(score, 0.0), 1.0), 4) for score in (*named, *read, *rest)]


def source_of(one: ScoredPassage, *, by_words: bool, by_vector: bool) -> str:
    legs = "hybrid" if by_words and by_vector else "vector" if by_vector else "bm25"
    if one.rerank is None:
        return legs
    return "vector+rerank" if by_vector else f"{legs}+rerank"


def why_found(one: ScoredPassage) -> Explanation:
    candidate = one.fused.candidate
    return Explanation(
        words=candidate.lexical_rank,
        vector=candidate.vector_rank,
        fused=one.fused.rank,
        late=one.late,
        rerank=one.rerank,
        bm25=candidate.bm25,
        cosine=candidate.cosine,
        closeness=one.closeness,
        relevance=one.relevance,
        name=one.named is not None,
    )
