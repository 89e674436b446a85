"""Whether vectors are what a model made: of its length, and normalised."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loci.search.ranking import Embedding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROUNDING = 0.01
"""By so much the length of a vector of float16 may differ from 1."""


def rows_of(vectors: Sequence[bytes], dimensions: int) -> "NDArray[np.float32] | None":
    """The vectors as one matrix; None where one of them is damaged."""
    import numpy as np  # 0.1 s, which a search on words alone does not pay

    if any(len(vector) != 2 * dimensions for vector in vectors):
        return None
    rows = np.frombuffer(b"".join(vectors), "<f2").reshape(-1, dimensions).astype(np.float32)
    return rows if bool(np.all(np.abs(np.vecdot(rows, rows) - 1) < ROUNDING)) else None  # no NaN is less


def is_sound(embedding: Embedding, dimensions: int) -> bool:
    """Whether a search may use it."""
    return rows_of([embedding.vector], dimensions) is not None and len(embedding.bits) % (dimensions // 8) == 0
