"""What a passage's score says: about how likely it is that the passage is about what was asked, from 0 to 1."""

import math
from collections.abc import Sequence

from loci.search.embedding_model import Scale

# Fitted to questions put to the library that has their answers and to others, then made less steep.
BY_SENSE, BY_WORDS, BIAS = 5.0, 3.0, -4.4
LEAST = 0.18
"""Where no passage has more, nothing is about the question. So it was for eight in ten questions that were put to a
library about something else, and for none of two hundred put to the right one."""
LEAST_BY_WORDS = 0.10
"""The same for a search on words alone, which knows no synonyms."""
NARROWEST = 0.05
"""Of a scale: a model whose closeness hardly tells answers from others is not believed."""


def relevance(closeness: float | None, scale: Scale | None, covered: float) -> float:
    """Of a passage with that closeness to the question and that share of its words; by words alone without a scale."""
    if closeness is None or scale is None or not _tells(scale):
        return covered
    sense = (closeness - scale.unrelated) / (scale.answering - scale.unrelated)
    return 1 / (1 + math.exp(-(BY_SENSE * sense + BY_WORDS * covered + BIAS)))


def least(scale: Scale | None) -> float:
    """What the best passage has where anything is about the question."""
    return LEAST if scale and _tells(scale) else LEAST_BY_WORDS


def _tells(scale: Scale) -> bool:
    return scale.answering - scale.unrelated >= NARROWEST


def falling(scores: Sequence[float]) -> list[float]:
    """The nearest scores that never rise: neighbours that are out of order share their mean."""
    pools: list[tuple[float, int]] = []
    for score in scores:
        pool = (score, 1)
        while pools and pools[-1][0] < pool[0]:
            mean, count = pools.pop()
            pool = ((mean * count + pool[0] * pool[1]) / (count + pool[1]), count + pool[1])
        pools.append(pool)
    return [mean for mean, count in pools for _ in range(count)]
