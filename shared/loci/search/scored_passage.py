"""A passage on its way through the stages of a search, with its scores so far and why it was found."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from loci.search.inference import QueryEmbedding
from loci.search.ranking import Chunk, Explanation
from loci.search.scoring import Fused, coverage, never_rising, relevance


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


def named_first(found: "Sequence[ScoredPassage]") -> "list[ScoredPassage]":
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
