"""How sure an answer may be that it fits: three levels, for each way in which a search can score."""

from typing import Literal

Match = Literal["strong", "possible", "none"]
# Measured by tests/quality/files.py on questions that a lake answers, and on questions about aerodynamics and Python
# that it does not. Of the former .87 to .99 are strong (fetaqa-tables-dev with the model .99, cmrc-zh-trial .87, words
# alone .88 and .86) and none is `none`; of the latter .00 to .02 are strong. A cross-encoder's scores: not measured.
STRONG = {"words": 0.5, "model": 0.5, "reranked": 0.5}
POSSIBLE = {"words": 0.1, "model": 0.18, "reranked": 0.1}


def match_of(score: float, source: str) -> Match:
    """How sure the score makes it that a passage is about the question. `source` names the stages that scored it."""
    way = "reranked" if source.endswith("+rerank") else "words" if source.startswith("bm25") else "model"
    return "strong" if score >= STRONG[way] else "possible" if score >= POSSIBLE[way] else "none"
