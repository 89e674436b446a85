"""Late interaction (MaxSim): how well the words of a passage match each word of the question."""

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from loci.search.inference import damaged_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

AT_ONCE = 128
"""Vectors that are unpacked together: so few fit into the processor's cache, which takes a third less time."""


@cache
def _unpacked() -> "Floats":
    """The bits of each byte as floats. To look them up is faster than to unpack them and turn them into floats."""
    import numpy as np

    return np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)


def matches(tokens: bytes, dimensions: int, passages: Sequence[bytes]) -> "Floats":
    """The best match of each word of the question (columns) in each passage (rows). Zeros for one without vectors.

    A passage keeps only the signs of its vectors, so 384 dimensions take 48 bytes. The question's vectors are floats.
    """
    import numpy as np  # takes 0.1 s; a search by words alone does without

    width = dimensions // 8
    if any(len(bits) % width for bits in passages):
        raise damaged_vectors()
    query = np.frombuffer(tokens, "<f4").reshape(-1, dimensions)
    found = np.zeros((len(passages), len(query)), np.float32)
    some = [at for at, bits in enumerate(passages) if bits]
    if not some or not len(query):
        return found
    rows = np.frombuffer(b"".join(passages[at] for at in some), np.uint8).reshape(-1, width)
    near = np.empty((len(rows), len(query)), np.float32)
    columns, unpacked = np.ascontiguousarray(query.T), _unpacked()
    places = rows.astype(np.intp)  # `take` would do so with each block, in twice the time
    for at in range(0, len(rows), AT_ONCE):
        near[at : at + AT_ONCE] = unpacked.take(places[at : at + AT_ONCE], axis=0).reshape(-1, dimensions) @ columns
    starts = np.cumsum([0, *(len(passages[at]) // width for at in some[:-1])])
    found[some] = (2 * np.maximum.reduceat(near, starts, axis=0) - query.sum(axis=1)) / math.sqrt(dimensions)
    return found


def averages(matches: "Floats", weights: Sequence[float] = ()) -> list[float]:
    """The average of the matches of each passage: about 0 is unrelated, 1 is the same.

    The `weights` belong to the words; without them all weigh the same, as a model's `Scale` has it.
    """
    import numpy as np

    if not matches.shape[1]:
        return [0.0] * len(matches)
    if not weights:
        return matches.mean(axis=1).tolist()
    weighing = np.array(weights)
    return (matches @ weighing / weighing.sum()).tolist()
