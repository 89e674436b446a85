"""The search pipeline: words and vectors, fused, then read ever more closely; and a report on how it went."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from loci.core import tracing
from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.search.document_index import DocumentIndex, whole
from loci.search.inference import Embedder, EmbeddingModel, QueryEmbedding, Reranker, knows_script
from loci.search.language_stage import LanguageResult, LanguageStage
from loci.search.languages import tongue_of
from loci.search.late_interaction import averages, matches
from loci.search.names import documents_named, name_word, names_in
from loci.search.ranking import (
    EVERYTHING,
    Candidate,
    Chunk,
    Explanation,
    Hit,
    NamedTime,
    QueryVector,
    Ranking,
    Stage,
    StageName,
    Where,
)
from loci.search.scoring import (
    ALPHA,
    OF_TIME,
    Fused,
    ScoredPassage,
    best_first,
    best_of_each,
    final_score,
    fuse,
    judge,
    named_first,
    of_time_first,
    rarities,
    unknown_names,
    word_weights,
    words_had,
)
from loci.search.words import Question

CANDIDATES = 50
"""Candidates of each leg, whatever the limit: a request for three gets the best three of these."""
MORE_ROUNDS = 2
"""Further looks at the index if a few documents have all the candidates."""
ROUNDS_FOR_ALL = 12
"""The same for a limit above `CANDIDATES`: such a search wants all that there is."""
LATE = 32
"""Passages that go through late interaction."""
NAMED = 10
"""Passages, the best by words, that may have the question as the name of their document."""
NO_MODEL = Stage("language_model", False, 0.0, "no model is configured: set LOCI_LANGUAGE_MODEL")
"""The report of the last stage in a deployment without a language model."""
T = TypeVar("T")
FOR_ALL_SCRIPTS = (
    "To search other languages by meaning: loci models pull multilingual-e5-small, and set embedder to it. Then Loci"
    " embeds all documents again"
)
"""The advice after a question in a script that the model does not know."""
NEAREST = 3
"""Documents that the reason names if nothing fits."""
LONGEST_BEGINNING = 600
"""Characters of a passage that tell its language."""
LONGEST_TITLE = 80
"""Characters of a title there."""


@dataclass(slots=True)
class StageLog:
    """The reports on the stages so far, each with its time."""

    stages: list[Stage] = field(default_factory=list[Stage])
    began: float = 0.0

    def start(self) -> None:
        self.began = time.perf_counter()

    def ran(self, stage: StageName, note: str) -> None:
        """Log a stage that took the time since `start`."""
        self.took(stage, (time.perf_counter() - self.began) * 1000, note)

    def took(self, stage: StageName, ms: float, note: str, *, end_ns: int | None = None) -> None:
        self.stages.append(Stage(stage, True, round(ms, 2), note))
        tracing.past(f"search {stage}", ms, end_ns=end_ns)

    def skipped(self, stage: StageName, why: str) -> None:
        self.stages.append(Stage(stage, False, 0.0, why))

    def failed(self, stage: StageName, error: Exception | str) -> None:
        """Log a stage that should have run, but failed."""
        self.stages.append(Stage(stage, False, 0.0, str(error), failed=True))


@dataclass(slots=True)
class QuestionVector:
    """The vector of a question, which is computed once, when the index needs it, perhaps in another thread."""

    embedder: Embedder
    model: EmbeddingModel
    query: str
    embedding: QueryEmbedding | None = None
    failure: Unavailable | None = None
    ms: float = 0.0
    end_ns: int = 0

    @property
    def for_index(self) -> QueryVector:
        return QueryVector(self.model.identity, self.model.dimensions, self._values)

    def _values(self) -> bytes:
        if self.embedding is None:
            began = time.perf_counter()
            try:
                embedding = self.embedder.query(self.query)
                if embedding.model != self.model.identity:
                    raise Unavailable("The embedding model has just changed", "Search again", code="MODEL_CHANGED")
            except Unavailable as error:
                self.failure = error
                raise
            self.embedding, self.ms = embedding, (time.perf_counter() - began) * 1000
            self.end_ns = time.time_ns()
        return self.embedding.vector


@dataclass(frozen=True, slots=True)
class Look:
    """A question to one collection of the index."""

    index: DocumentIndex
    owner: Owner
    collection: str
    question: Question
    vector: QuestionVector | None
    """The vector of the question; None if the vector leg cannot run."""
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

    def candidates_of(self, when: NamedTime | None, limit: int) -> list[Candidate]:
        """Candidates from documents of that time; none without one, or if the conditions name a time."""
        if when is None or self.where.since or self.where.until:
            return []
        most = max(CANDIDATES, limit)
        where = replace(self.where, since=when.since, until=when.until)
        return [_later(one, most) for one in self._found(where, most)]

    def _first(self, most: int, log: StageLog) -> list[Candidate]:
        vector = self.vector
        try:
            found = self._found(self.where, most)
        except Unavailable:
            if vector is None or vector.failure is None:
                raise
            log.failed("vector", vector.failure)
            return self._found(self.where, most)
        if vector and vector.embedding:
            log.took("vector", vector.ms, vector.model.identity, end_ns=vector.end_ns)
        return found

    def _found(self, where: Where, most: int) -> list[Candidate]:
        vector = self.vector.for_index if self.vector and self.vector.failure is None else None
        names = [one for one in dict.fromkeys((name_word(self.question.text), *names_in(self.question.text))) if one]
        words = [*self.question.with_forms(self.question.words), *names]
        return self.index.candidates(self.owner, self.collection, words, vector, limit=most, where=where)


def _together(found: Sequence[Candidate], later: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of both looks. A chunk that the vector found first may have been found by its words since."""
    every = {one.chunk: one for one in found}
    for one in later:
        first = every.setdefault(one.chunk, one)
        if first.lexical_rank is None and one.lexical_rank is not None:
            every[one.chunk] = replace(first, bm25=one.bm25, lexical_rank=one.lexical_rank)
    return list(every.values())


def _ranks(found: Sequence[Candidate]) -> tuple[list[int | None], list[int | None]]:
    return [one.lexical_rank for one in found], [one.vector_rank for one in found]


def _later(one: Candidate, most: int) -> Candidate:
    """The candidate, ranked behind the candidates of the look before."""
    lexical, nearest = (rank and rank + most for rank in (one.lexical_rank, one.vector_rank))
    return replace(one, lexical_rank=lexical, vector_rank=nearest)


class Search:
    """Searches a collection. Documents and files differ only in the content of the index."""

    def __init__(
        self,
        index: DocumentIndex,
        embedder: Embedder,
        reranker: Reranker,
        language_stage: LanguageStage | None,
        *,
        rerank_seconds: float,
        lacks: Callable[[Owner], str | None] = whole,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._reranker = reranker
        self._language_stage = language_stage
        self._rerank_seconds = rerank_seconds
        self._lacks = lacks

    def find(
        self,
        owner: Owner,
        collection: str,
        query: str | Question,
        *,
        limit: int,
        room: int = 300,
        where: Where = EVERYTHING,
        each: int | None = 1,
        when: NamedTime | None = None,
    ) -> Ranking:
        """The best passages, whole. A language model may quote at most `room` characters of one.

        At most `each` of each of the `limit` best documents. With `each=None` the `limit` best of all passages. `when`:
        the time that the question names.
        """
        log = StageLog()
        question = Question.plain(query) if isinstance(query, str) else query
        vector = self._vector(question.text, log)
        look = Look(self._index, owner, collection, question, vector, where)
        candidates = look.candidates(limit, each, log)
        in_time = look.candidates_of(when, limit)
        candidates, of_time = _together(candidates, in_time), {one.document for one in in_time}
        embedding = vector and vector.embedding
        fused = fuse(candidates, ALPHA, embedding.scale.unrelated_cosine) if embedding else fuse(candidates, 0.0)
        if of_time:
            fused.sort(key=lambda one: -(one.score + OF_TIME * (one.candidate.document in of_time)))
        ranked = best_of_each(fused, each)
        if limit > CANDIDATES and len(set(question.words)) == 1:
            ranked = _with_the_word_first(ranked, candidates)
        ranked = ranked[: max(CANDIDATES, limit * (each or 1))]
        near = [one for one in fused if (one.candidate.lexical_rank or NAMED + 1) <= NAMED]
        wanted = dict.fromkeys(one.candidate.chunk for one in (*ranked, *near))
        chunks = self._index.chunks(owner, collection, list(wanted))
        found = _with_named(question.text, ranked, near, chunks, each)
        if when is not None:
            found = of_time_first(found, when, of_time)
        log.ran("words", f"{len(candidates)} passages of {len(found)} documents")
        if lacks := self._lacks(owner):
            log.failed("index", lacks)
        had = words_had(question, found)
        is_across = vector is not None and embedding is not None and _is_across(question, vector.model, found)
        if embedding is None:
            log.skipped("late", "the question has no vector")
        elif is_across:
            log.skipped("late", "the passages are in another language than the question")
        else:
            self._late(found, question, embedding, had, log)
        if not judge(question, had, found, candidates, embedding, is_across=is_across):
            return _nothing(question, where, found, unknown_names(question.text, had), log)
        found = best_first(found, embedding)
        found = named_first(self._reranked(question.text, found, log))
        least_read = min((one.relevance for one in found if one.relevance is not None), default=1.0)
        scored = [(one, final_score(one, least_read)) for one in found]
        stage = self._language_stage
        deep = limit if stage is None else stage.depth(limit)
        hits = tuple(
            Hit(
                one.chunk,
                score,
                _source(one, by_words=bool(question.words), by_vector=embedding is not None),
                one.chunk.text,
                _explanation(one),
                fits=one.fits,
                match=one.match,
            )
            for one, score in _of_the_best(scored, [one.chunk.document for one in found], deep, each)
        )
        first, further = _first_of_each(hits, each)
        read = LanguageResult(tuple(first), NO_MODEL) if stage is None else stage.read(question.text, first, room=room)
        hits = (*read.hits, *further)
        words = tuple(question.with_forms(question.text_words))
        best = _of_the_best(hits, [hit.chunk.document for hit in hits], limit, each)
        return Ranking(words, tuple(best), (*log.stages, read.stage), None, read.intent, read.analysis)

    def _vector(self, query: str, log: StageLog) -> QuestionVector | None:
        """The question's vector; None, with the reason in the log, if the vector leg cannot run."""
        try:
            model = self._embedder.model()
        except Unavailable as error:
            log.failed("vector", error)
            return None
        if model is None:
            log.skipped("vector", self._embedder.missing())
        elif not knows_script(model.scripts, query):
            log.skipped("vector", f"{model.identity} was not trained on this script. {FOR_ALL_SCRIPTS}")
        else:
            return QuestionVector(self._embedder, model, query)
        return None

    def _late(
        self,
        found: list[ScoredPassage],
        question: Question,
        embedding: QueryEmbedding,
        had: Mapping[str, Collection[str]],
        log: StageLog,
    ) -> None:
        """Set how close the first passages are to the question, by late interaction."""
        log.start()
        first = found[:LATE]
        bits = [_bits(one.chunk, embedding.model) for one in first]
        best = matches(embedding.tokens, len(embedding.vector) // 4, bits)
        weights = word_weights(question.text, embedding.spans, rarities(question.text_words, had))
        for one, close, weighted, read in zip(first, averages(best), averages(best, weights), bits, strict=True):
            if read:  # its vectors may not be computed yet
                one.closeness, one.weighted = close, weighted
        near = sorted((-one.weighted, at) for at, one in enumerate(first) if one.weighted is not None)
        for rank, (_, at) in enumerate(near, 1):
            first[at].late = rank
        log.ran("late", f"{len(first)} passages")

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


def _with_the_word_first(ranked: Sequence[Fused], candidates: Sequence[Candidate]) -> list[Fused]:
    """Put all documents that have the word before the ones only near it: a search for very many wants them all."""
    having = {one.document for one in candidates if one.lexical_rank is not None}
    return sorted(ranked, key=lambda one: one.candidate.document not in having)


def _of_the_best(ranked: Sequence[T], documents: Sequence[str], limit: int, each: int | None) -> list[T]:
    """The passages of the `limit` best documents, or the `limit` best of all. `documents` has the document of each."""
    if each is None:
        return list(ranked[:limit])
    best = set(list(dict.fromkeys(documents))[:limit])
    return [one for one, document in zip(ranked, documents, strict=True) if document in best]


def _first_of_each(hits: Sequence[Hit], each: int | None) -> tuple[list[Hit], list[Hit]]:
    """The best passage of each document, and the others. With `each=None` all count as best ones."""
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


def _is_across(question: Question, model: EmbeddingModel, found: Sequence[ScoredPassage]) -> bool:
    """True if the first passages are in another language than the question, and the model knows all languages."""
    if model.scripts or (asked := tongue_of(question.text)) is None:
        return False
    return tongue_of("\n".join(one.chunk.text[:LONGEST_BEGINNING] for one in found[:NEAREST])) not in (asked, None)


def _bits(chunk: Chunk, model: str) -> bytes:
    return chunk.embedding.bits if chunk.embedding and chunk.embedding.model == model else b""


def _under_headings(chunk: Chunk) -> str:
    """The passage under its headings, as the reranker reads it."""
    return "\n".join([" > ".join(chunk.heading), chunk.text]) if chunk.heading else chunk.text


def _nothing(
    question: Question, where: Where, found: Sequence[ScoredPassage], unknown: Sequence[str], log: StageLog
) -> Ranking:
    log.skipped("rerank", "there are no passages")
    log.skipped("language_model", "there are no hits")
    return Ranking(question.text_words, (), tuple(log.stages), _reason(question.words, where, found, unknown))


def _reason(words: Sequence[str], where: Where, found: Sequence[ScoredPassage], unknown: Sequence[str]) -> str:
    which = "document" if where == EVERYTHING else "document that fits the conditions"
    if found:
        titles: dict[str, str] = {}
        for one in found:
            titles.setdefault(one.chunk.document, one.chunk.title[:LONGEST_TITLE])
        near = ", ".join(f'"{title}" ({document})' for document, title in list(titles.items())[:NEAREST])
        best = max(one.fits for one in found)
        lacks = f", and none has the name {' or '.join(unknown[:NEAREST])[:LONGEST_TITLE]}" if unknown else ""
        return f"No {which} is about it: {best:.2f} is the best score{lacks}. The nearest are {near}"
    if not words:
        return "The question has no word to search for"
    return f"No {which} has any of the question's words, or is near it"


def _source(one: ScoredPassage, *, by_words: bool, by_vector: bool) -> str:
    legs = "hybrid" if by_words and by_vector else "vector" if by_vector else "bm25"
    if one.rerank is None:
        return legs
    return "vector+rerank" if by_vector else f"{legs}+rerank"


def _explanation(one: ScoredPassage) -> Explanation:
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
