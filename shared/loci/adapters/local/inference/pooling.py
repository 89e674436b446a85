"""From the vectors of tokens to what is stored and compared."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from loci.adapters.local.inference.model_session import Floats

SMALLEST = 1e-12


def pooled(hidden: "Floats", mask: "npt.NDArray[np.int64]", how: Literal["cls", "mean"]) -> "Floats":
    """One normalised vector a text: its first token's, or the mean of all."""
    if how == "cls":
        return unit(hidden[:, 0])
    real = mask[:, :, None].astype(hidden.dtype)
    return unit((hidden * real).sum(axis=1) / real.sum(axis=1))


def sign_bits(tokens: "Floats") -> bytes:
    """Two neighbours averaged, one bit a dimension."""
    import numpy as np

    pairs = np.add.reduceat(tokens, np.arange(0, len(tokens), 2), axis=0)
    return np.packbits(pairs > 0, axis=1).tobytes()


def unit(vectors: "Floats") -> "Floats":
    """Each of length one."""
    import numpy as np

    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), SMALLEST)
