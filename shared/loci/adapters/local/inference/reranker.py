"""`Reranker` on onnxruntime, in this process."""

import time
from collections.abc import Callable, Sequence

from loci.adapters.local.inference.in_use import InUse

LONGEST_QUERY = 64
LONGEST_PAIR = 512
BATCH = 8


class OnnxReranker:
    """A cross-encoder. It takes seconds to load and up to 2 GB, so that happens at its first use."""

    def __init__(self, models: InUse, clock: Callable[[], float] = time.monotonic) -> None:
        self._models = models
        self._clock = clock

    def model(self) -> str | None:
        loaded = self._models.found()
        return loaded.manifest.identity if loaded else None

    def missing(self) -> str:
        return self._models.missing()

    def scores(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        until = self._clock() + seconds
        if not texts:
            return []
        import numpy as np

        loaded = self._models.loaded()
        longest = min(LONGEST_PAIR, loaded.manifest.longest)
        longest_query = min(LONGEST_QUERY, longest // 2)
        found: list[float] = []
        batch = 1 if loaded.manifest.alone else BATCH
        for first in range(0, len(texts), batch):
            if found and self._clock() >= until:
                break
            pairs = loaded.tokens().encode_pairs(query, texts[first : first + batch], longest, longest_query)
            logits, _ = loaded.session().run(pairs)
            found += (1 / (1 + np.exp(-logits.reshape(len(pairs), -1)[:, 0].astype("f8")))).tolist()
        return found
