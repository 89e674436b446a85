"""`Reranker` on onnxruntime, in this process."""

import time
from collections.abc import Callable, Sequence

from loci.adapters.local.inference.current_model import CurrentModel

LONGEST_QUERY = 64
LONGEST_PAIR = 512
BATCH = 8


class OnnxReranker:
    """A cross-encoder. Loading it takes seconds and up to 2 GB, so it is loaded at its first use."""

    def __init__(self, current: CurrentModel, clock: Callable[[], float] = time.monotonic) -> None:
        self._current = current
        self._clock = clock

    def model(self) -> str | None:
        model = self._current.found()
        return model.manifest.identity if model else None

    def missing(self) -> str:
        return self._current.missing()

    def scores(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        until = self._clock() + seconds
        if not texts:
            return []
        import numpy as np

        model = self._current.loaded()
        longest = min(LONGEST_PAIR, model.manifest.longest)
        longest_query = min(LONGEST_QUERY, longest // 2)
        found: list[float] = []
        batch = 1 if model.manifest.alone else BATCH
        for first in range(0, len(texts), batch):
            if found and self._clock() >= until:
                break
            pairs = model.tokenizer().encode_pairs(query, texts[first : first + batch], longest, longest_query)
            logits, _ = model.session().run(pairs)
            found += (1 / (1 + np.exp(-logits.reshape(len(pairs), -1)[:, 0].astype("f8")))).tolist()
        return found
