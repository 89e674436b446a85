"""How much of a question's words a passage has, from 0 to 1."""

import math
from collections.abc import Collection, Mapping, Sequence

DOUBT = 10
"""Passages that are imagined beside the candidates, half of them with each word: of few candidates all have it, because
it is what they were found by."""


def coverage(words: Sequence[str], passages: Mapping[str, Collection[str]]) -> dict[str, float]:
    """For each passage the share of the question's words that it has, each weighed by how few passages have it.

    The passages are the candidates: a word that all of them have says little about any, and one that none has
    counts against all.
    """
    weights = {word: _rarity(sum(word in found for found in passages.values()), len(passages)) for word in words}
    total = sum(weights.values())
    return {
        id: sum(weight for word, weight in weights.items() if word in found) / total if total else 0.0
        for id, found in passages.items()
    }


def _rarity(having: int, of: int) -> float:
    return math.log(1 + (of - having + DOUBT) / (having + DOUBT))
