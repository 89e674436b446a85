"""The arithmetic of scores: two legs fused into one ranking, and a passage's relevance from 0 to 1."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from loci.search.inference import QueryEmbedding, Scale
from loci.search.names import people_and_things
from loci.search.ranking import LEVELS, Candidate, Chunk, Match, NamedTime
from loci.search.words import Question, word_positions

ALPHA = 0.5
"""The weight of the vector leg. Measured on five public sets: 0.015 nDCG@10 better than reciprocal rank fusion, which
on dialogue is worse than words alone."""

OF_TIME = 0.2
"""The addition to the fused score of a passage that is of the time which the question names. It decides between
passages that are about as near."""

DOUBT = 10
"""Imaginary passages beside the candidates, half of them with each word. If there are few candidates, all of them have
the word, because it found them."""

# Fitted to questions that a library answers and to questions that it does not, then made less steep.
BY_SENSE, BY_WORDS, BIAS = 5.0, 3.0, -4.4
SENSE, FUSED, OFFSET = 4.5, 5.0, -9.4
"""The weights of a score: fitted to public sets, each measured with the weights of the others, made half as steep
again, and rounded to where sense weighs a little more: people ask in other words than the sets do."""
LEAST, LEAST_WITHOUT_NAME = 0.5, 0.8
"""The least score of a passage that is about the question, unless one is `NEAR`. The second holds if the question has
a name that no passage has."""
NEAR, NEAR_WITHOUT_NAME = 0.55, 0.85
"""The least cosine of a passage that may be about the question, however few of its words it has: a share of the way
from the cosine of unrelated texts to the cosine of answers, both the model's own (`Scale`). `make quality` prints the
share of refused questions: of questions that a library answers, and of questions that belong to another one."""
LEAST_ACROSS = 0.03
"""The least score of a passage in another language than the question's: only its meaning is found."""
LEAST_BY_WORDS, LEAST_BY_WORDS_WITHOUT_NAME = 0.10, 0.20
"""The least score of a passage by words alone, which know no synonyms."""
STRONG, POSSIBLE = 0.9, 0.5
"""The least relevance of a strong and of a possible match with a model."""
STRONG_SCORE, POSSIBLE_SCORE = 0.5, 0.05
"""The least score of both. Of the best documents that match strongly, 80 % were right on dialogues and on code, and
99 % on tables and on paragraphs. It was chosen on dialogues, code and tables."""
STRONG_BY_WORDS, POSSIBLE_BY_WORDS = 0.55, 0.3
NARROWEST = 0.05
"""The smallest usable scale. Below it a model's closeness hardly separates answers from the rest, so it is ignored."""


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate with its rank in the joint ranking, counted from 1."""

    candidate: Candidate
    score: float
    rank: int


@dataclass(slots=True)
class ScoredPassage:
    """A passage on its way through the stages, with the scores so far."""

    fused: Fused
    chunk: Chunk
    closeness: float | None = None
    weighted: float | None = None
    """The closeness in which rare words of the question count more."""
    covered: float = 0.0
    """The share of the question's words that it has."""
    fits: float = 0.0
    """About how likely it is about the question, by words and vectors."""
    score: float = 0.0
    """About how likely it answers, by words and vectors: the cross-encoder has not read the passage yet."""
    match: Match = "none"
    late: int | None = None
    relevance: float | None = None
    rerank: int | None = None
    is_of_time: bool = False
    """True if it is of the time that the question names."""
    named: int | None = None
    """The degree to which the question is the name of the document; None: the document has another name."""


def fuse(candidates: Sequence[Candidate], alpha: float, unrelated: float = 0.0) -> list[Fused]:
    """Best first: `alpha` of the cosine plus the rest of BM25.

    Each leg is divided by its own maximum, because the BM25 of Lucene and of FTS5 differ by a constant factor. A
    passage without a vector, which may not be computed yet, counts by its words alone. A cosine counts from that of
    `unrelated` texts on: those of some models all lie between 0.7 and 1.
    """
    best_cosine = max((one.cosine or 0.0 for one in candidates), default=0.0)
    floor = unrelated if unrelated < best_cosine else 0.0
    best_bm25 = max((one.bm25 or 0.0 for one in candidates), default=0.0)
    if best_cosine <= 0:
        alpha = 0.0

    def by_sense(cosine: float) -> float:
        return max(0.0, cosine - floor) / (best_cosine - floor)

    def score(one: Candidate) -> float:
        by_words = (one.bm25 or 0.0) / best_bm25 if best_bm25 > 0 else 0.0
        if not alpha or one.cosine is None:
            return by_words
        if best_bm25 <= 0:  # no passage has a word of the question
            return by_sense(one.cosine)
        return alpha * by_sense(one.cosine) + (1 - alpha) * by_words

    scored = sorted(((score(one), one) for one in candidates), key=lambda pair: (-pair[0], pair[1].chunk))
    return [Fused(one, value, rank) for rank, (value, one) in enumerate(scored, 1)]


def best_of_each(ranked: Iterable[Fused], each: int | None = 1) -> list[Fused]:
    """The best `each` chunks of each document, in order; None: all chunks."""
    counts: Counter[str] = Counter()
    best: list[Fused] = []
    for one in ranked:
        counts[one.candidate.document] += 1
        if each is None or counts[one.candidate.document] <= each:
            best.append(one)
    return best


def of_time_first(found: Sequence[ScoredPassage], when: NamedTime, documents: Collection[str]) -> list[ScoredPassage]:
    """Put the passages of the time up by what that counts: by their headings, or as one of these `documents`."""
    for one in found:
        one.is_of_time = when.has(one.chunk, one.chunk.document in documents)
    return sorted(found, key=lambda one: -(one.fused.score + OF_TIME * one.is_of_time))


def judge(
    question: Question,
    had: Mapping[str, Collection[str]],
    found: Sequence[ScoredPassage],
    candidates: Sequence[Candidate],
    embedding: QueryEmbedding | None,
    *,
    is_across: bool = False,
) -> bool:
    """Set how well each passage fits; False if none of them is about the question.

    `had` says which of the question's words each passage has. `is_across`: the passages are in another language than
    the question, so their words say nothing, and names are written otherwise.
    """
    scale = _usable(embedding)
    is_across = is_across and scale is not None  # else there are only the words
    covered = coverage(question.words, had)
    for one in found:
        one.covered = covered[one.chunk.id]
        covers = None if is_across else one.covered
        sense = scale and _sense(one, one.closeness, scale)
        one.fits = 1.0 if one.named is not None else relevance(sense, covers)
    if not found:
        return False
    best = max(one.fits for one in found)
    if is_across:
        return best >= LEAST_ACROSS
    nearest = max((one.cosine for one in candidates if one.cosine is not None), default=None)
    by_words = max((one.covered for one in found if one.fused.candidate.cosine is None), default=0.0)
    lacks_name = bool(unknown_names(question.text, had))
    return not is_about_something_else(best, by_words, nearest, scale, lacks_name)


def unknown_names(question: str, had: Mapping[str, Collection[str]]) -> list[str]:
    """The people and things that the question names and no passage does.

    No names if the passages have none of its words: they may be in another language, which writes names otherwise.
    """
    named = people_and_things(question)
    known = frozenset(chain.from_iterable(had.values())) if named else frozenset[str]()
    return [name for name, words in named.items() if known and known.isdisjoint(words)]


def words_had(question: Question, found: Sequence[ScoredPassage]) -> dict[str, list[str]]:
    """The words of the question that each passage has, in one of their forms, by the id of its chunk."""
    words = dict.fromkeys([*question.words, *question.text_words])
    spaced = [(one, f" {one} ", [f" {form} " for form in question.forms.get(one, ())]) for one in words]
    had: dict[str, list[str]] = {}
    for one in found:
        text = f" {one.chunk.words} "
        had[one.chunk.id] = [
            word for word, own, forms in spaced if own in text or (forms and any(form in text for form in forms))
        ]
    return had


def coverage(words: Sequence[str], passages: Mapping[str, Collection[str]]) -> dict[str, float]:
    """The share of the question's words that each passage has. `passages` has the words of each, every word once.

    A word counts more if fewer passages have it, and twice if it comes twice.

    Call it with all candidates: a word that all of them have says little about any, and one that none of them has
    counts against all.
    """
    rare = rarities(words, passages)
    weights = {word: times * rare[word] for word, times in Counter(words).items()}
    total = sum(weights.values())
    return {
        id: sum(weights.get(word, 0.0) for word in found) / total if total else 0.0 for id, found in passages.items()
    }


def rarities(words: Iterable[str], passages: Mapping[str, Collection[str]]) -> dict[str, float]:
    """The weight of each word: greater if fewer of the passages have it."""
    having = Counter(chain.from_iterable(passages.values()))
    return {word: _rarity(having[word], len(passages)) for word in dict.fromkeys(words)}


def word_weights(question: str, spans: Sequence[tuple[int, int]], rarities: Mapping[str, float]) -> list[float]:
    """The weight of each vector of the question: the square root of the rarity of its word. No word: no weight."""
    at = dict[int, list[float]]()
    for word, start, end in word_positions(question, frozenset(rarities)):
        for place in range(start, end):
            at.setdefault(place, []).append(rarities[word])
    # By its last character: some tokenizers give a word the space before it.
    found = [at.get(end - 1, []) for _, end in spans]
    weights = [math.sqrt(sum(one) / len(one)) if one else 0.0 for one in found]
    return weights if any(weights) else [1.0] * len(spans)


def _rarity(having: int, of: int) -> float:
    return math.log(1 + (of - having + DOUBT) / (having + DOUBT))


def relevance(sense: float | None, covered: float | None) -> float:
    """About how likely the passage is to be about the question: from its place on the model's scale, and from the
    share of words it has.

    Without a place the words alone decide, and where words say nothing (None), the place alone.
    """
    if sense is None:
        return covered or 0.0
    return _logistic(BY_SENSE * sense + BY_WORDS * (sense if covered is None else covered) + BIAS)


def _sense(one: ScoredPassage, closeness: float | None, scale: Scale) -> float:
    """The passage's place on the scale, from unrelated (0) to answering (1): by the closest reading that it had."""
    if closeness is not None:
        return (closeness - scale.unrelated) / (scale.answering - scale.unrelated)
    if (cosine := one.fused.candidate.cosine) is not None:
        return (cosine - scale.unrelated_cosine) / (scale.answering_cosine - scale.unrelated_cosine)
    return sense_of_words(one.covered)


def sense_of_words(covered: float) -> float:
    """The usual place on a model's scale of a passage that has this share of the question's words."""
    return 0.36 + 1.1 * covered


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def is_about_something_else(
    best_relevance: float,
    best_by_words: float,
    best_cosine: float | None,
    scale: Scale | None,
    lacks_name: bool = False,
) -> bool:
    """True if nothing that was found is about the question: the best relevance is low, and so is the best cosine.

    Passages whose vectors are not there yet have only words: `best_by_words` is the best relevance of those.
    """
    by_words = LEAST_BY_WORDS_WITHOUT_NAME if lacks_name else LEAST_BY_WORDS
    if scale is None:
        return best_relevance < by_words
    least, near = (LEAST_WITHOUT_NAME, NEAR_WITHOUT_NAME) if lacks_name else (LEAST, NEAR)
    least_cosine = scale.unrelated_cosine + near * (scale.answering_cosine - scale.unrelated_cosine)
    if best_by_words >= by_words:
        return False
    return best_relevance < least and (best_cosine is None or best_cosine < least_cosine)


def match_of(one: ScoredPassage, *, by_meaning: bool) -> Match:
    """The level of a passage: by how likely it is about the question, and by how likely it answers.

    A cross-encoder changes only the order: its scores mean something else for each model.
    """
    strong, possible = (STRONG, POSSIBLE) if by_meaning else (STRONG_BY_WORDS, POSSIBLE_BY_WORDS)
    if one.named is not None or (one.fits >= strong and one.score >= STRONG_SCORE):
        return "strong"
    return "possible" if one.fits >= possible and one.score >= POSSIBLE_SCORE else "none"


def _usable(embedding: QueryEmbedding | None) -> Scale | None:
    """The model's scale, unless it hardly separates answers from the rest."""
    scale = embedding and embedding.scale
    return scale if scale and scale.answering - scale.unrelated >= NARROWEST else None


def named_first(found: Sequence[ScoredPassage]) -> list[ScoredPassage]:
    """The passages of documents that the question names, then the others in their order."""
    named = sorted((one for one in found if one.named is not None), key=lambda one: one.named or 0)
    return [*named, *(one for one in found if one.named is None)]


def best_first(found: Sequence[ScoredPassage], embedding: QueryEmbedding | None) -> list[ScoredPassage]:
    """Score each passage, and sort them by how surely they match, then by their scores.

    A score is of meaning and words, or of words as long as the passage has no vector.
    Without a model, the score is the passage's BM25 as a share of the best, times the largest share of the question's
    words that a passage has.
    """
    scale = _usable(embedding)
    if scale is None:
        most = max((one.covered for one in found), default=0.0)
        for one in found:
            one.score = one.fused.score * most
            one.match = match_of(one, by_meaning=embedding is not None)
            one.score = min(1.0, one.fused.score + OF_TIME * one.is_of_time) * most
        return list(found)
    for one in found:
        likely = SENSE * _sense(one, one.weighted, scale) + FUSED * one.fused.score + OFFSET
        one.score = _logistic(likely)
        one.match = match_of(one, by_meaning=True)
        if one.is_of_time:  # for its place, not for its match: to be of the time does not make it an answer
            one.score = _logistic(likely + FUSED * OF_TIME)
    # The sort is stable: equal scores keep their order.
    return sorted(found, key=lambda one: (LEVELS.index(one.match), -one.score))


def final_score(one: ScoredPassage, least_read: float) -> float:
    """The score that an answer shows, from 0 to 1.

    Passages that the question names come first. `least_read`: the least score that the reranker gave, 1 if it read
    nothing; passages that it did not read come behind the others.
    """
    if one.named is not None:
        return 1.0
    if one.relevance is not None:
        return round(min(max(one.relevance, 0.0), 1.0), 4)
    return round(one.score * least_read, 4)
