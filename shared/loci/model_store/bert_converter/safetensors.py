"""Weights in the safetensors format: a length, a JSON header, then the raw numbers."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loci.core.errors import Unavailable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LONGEST_HEADER = 100_000_000

Weights = dict[str, "npt.NDArray[np.float32]"]


def read_weights(path: Path) -> Weights:
    """Every float32 array of the file, by name."""
    import numpy as np  # only a conversion needs it

    content = path.read_bytes()
    try:
        length = int.from_bytes(content[:8], "little")
        if not 0 < length <= LONGEST_HEADER:
            raise ValueError("the header's length")
        header: dict[str, dict[str, Any]] = json.loads(content[8 : 8 + length])
        weights: Weights = {}
        for name, entry in header.items():
            if entry.get("dtype") == "F32":
                first, last = (8 + length + offset for offset in entry["data_offsets"])
                weights[name] = np.frombuffer(content[first:last], "<f4").reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unavailable(
            f"{path.name} holds no weights ({error})", "Pull the model again", code="MODEL_DAMAGED"
        ) from None
    return weights
