"""How sure an answer may be that it fits: three levels."""

from collections.abc import Sequence
from typing import Literal

Match = Literal["strong", "possible", "none"]
STRONG = 0.5
# Chosen on conversations (LoCoMo) and questions about Python and aerodynamics, which they do not answer: with a model
# none of 500 that they answer is below it, by words alone 8 of 260. tests/quality/files.py measures other sets.
POSSIBLE, POSSIBLE_BY_WORDS = 0.4, 0.3


def match_of(fits: float, *, by_meaning: bool) -> Match:
    """The level of a passage that is so likely about the question: by its words, and by a model if `by_meaning`.

    A cross-encoder changes only the order: its scores mean something else for each model.
    """
    possible = POSSIBLE if by_meaning else POSSIBLE_BY_WORDS
    return "strong" if fits >= STRONG else "possible" if fits >= possible else "none"


def best(levels: Sequence[Match]) -> Match:
    """The surest of them."""
    return "strong" if "strong" in levels else "possible" if "possible" in levels else "none"
