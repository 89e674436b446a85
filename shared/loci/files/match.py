"""How sure an answer may be that it fits: three levels, for each way in which a search can score."""

from typing import Literal

Match = Literal["strong", "possible", "none"]
# Measured by tests/quality/matches.py on questions over tables that the lake answers, and on questions over Chinese
# texts, aerodynamics and talks that it does not. Of the latter at most 1 in 20 is `strong`.
STRONG = {"words": 0.5, "model": 0.5, "reranked": 0.5}
POSSIBLE = {"words": 0.1, "model": 0.18, "reranked": 0.1}


def match_of(score: float, source: str) -> Match:
    """How sure the score makes it that a passage is about the question. `source` names the stages that scored it."""
    way = "reranked" if source.endswith("+rerank") else "words" if source.startswith("bm25") else "model"
    return "strong" if score >= STRONG[way] else "possible" if score >= POSSIBLE[way] else "none"
