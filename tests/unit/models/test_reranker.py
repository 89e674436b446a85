"""The reranker reads for as long as it may."""

from pathlib import Path

import pytest

from loci.adapters.embedded.inference.in_use import InUse
from loci.adapters.embedded.inference.reranker import BATCH, OnnxReranker
from loci.models.shelf import Shelf
from tests.support.small_models import small_models

__all__ = ["small_models"]

TEXTS = ["the memory"] * (4 * BATCH)


class SlowClock:
    """A clock on which each batch takes a second."""

    def __init__(self) -> None:
        self.now = -1.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.mark.parametrize(("seconds", "batches"), [(0, 1), (0.5, 1), (1.5, 2), (2.5, 3), (60, 4)])
def test_a_batch_is_begun_while_there_is_time(small_models: Path, seconds: float, batches: int) -> None:
    reranker = OnnxReranker(InUse(Shelf(small_models), "reranker"), SlowClock())
    assert len(reranker.scores("search", TEXTS, seconds=seconds)) == batches * BATCH
