"""One ranking of two legs: each by its own maximum, so that no engine's constants matter."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loci.search.ranking import Candidate

# Chosen on five public sets: .015 of nDCG@10 above reciprocal ranks, which are worse than words alone on dialogue.
ALPHA = 0.6


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate with its place in the joint ranking, from 1 on."""

    candidate: Candidate
    score: float
    rank: int


def fuse(candidates: Sequence[Candidate], alpha: float = ALPHA) -> list[Fused]:
    """Best first: `alpha` of the cosine and the rest of the words, each divided by the best there is."""
    best_cosine = max((one.cosine or 0.0 for one in candidates), default=0.0)
    best_bm25 = max((one.bm25 or 0.0 for one in candidates), default=0.0)
    if best_cosine <= 0:
        alpha = 0.0

    def score(one: Candidate) -> float:
        near = max(0.0, one.cosine or 0.0) / best_cosine if alpha else 0.0
        said = (one.bm25 or 0.0) / best_bm25 if best_bm25 > 0 else 0.0
        return alpha * near + (1 - alpha) * said

    scored = sorted(((score(one), one) for one in candidates), key=lambda pair: (-pair[0], pair[1].chunk))
    return [Fused(one, value, rank) for rank, (value, one) in enumerate(scored, 1)]


def best_of_each(ranked: Iterable[Fused]) -> list[Fused]:
    """The best chunk of each document, in order."""
    first: dict[str, Fused] = {}
    for one in ranked:
        first.setdefault(one.candidate.document, one)
    return list(first.values())
