"""Late interaction: how well a passage's words answer each word of the question (MaxSim), from one bit a dimension."""

import math
from collections.abc import Sequence

from loci.search.document_index import damaged_vectors

WEIGHT = 0.5
"""Of late interaction in the order of the first passages; the rest is the fused score's."""


def closeness(tokens: bytes, dimensions: int, passages: Sequence[bytes]) -> list[float]:
    """The mean over the question's words of the best match in each passage: about 0 unrelated, 1 the same.

    A passage's vectors are signs only, so that 384 dimensions take 48 bytes; the question's are floats.
    """
    import numpy as np  # 0.1 s, which a search on words alone does not pay

    width = dimensions // 8
    if any(len(bits) % width for bits in passages):
        raise damaged_vectors()
    query = np.frombuffer(tokens, "<f4").reshape(-1, dimensions)
    found = [0.0] * len(passages)
    some = [at for at, bits in enumerate(passages) if bits]
    if not some or not len(query):
        return found
    rows = np.frombuffer(b"".join(passages[at] for at in some), np.uint8).reshape(-1, width)
    near = np.unpackbits(rows, axis=1).astype(np.float32) @ query.T
    starts = np.cumsum([0, *(len(passages[at]) // width for at in some[:-1])])
    best = 2 * np.maximum.reduceat(near, starts, axis=0) - query.sum(axis=1)
    for at, value in zip(some, best.mean(axis=1).tolist(), strict=True):
        found[at] = value / math.sqrt(dimensions)
    return found


def reorder(fused: Sequence[float], late: Sequence[float]) -> list[int]:
    """The places in the new order, both sides stretched from 0 to 1."""
    joint = [WEIGHT * a + (1 - WEIGHT) * b for a, b in zip(_unit(late), _unit(fused), strict=True)]
    return sorted(range(len(joint)), key=lambda at: (-joint[at], at))


def _unit(values: Sequence[float]) -> list[float]:
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]
