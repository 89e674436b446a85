"""The reranker reads for as long as it may."""

from pathlib import Path

import pytest

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.reranker import BATCH, OnnxReranker
from loci.model_store.models_folder import ModelsFolder
from tests.support.small_models import RERANKER, lay_out_reranker

TEXTS = ["the memory"] * (4 * BATCH)


class SlowClock:
    """A clock on which each batch takes a second."""

    def __init__(self) -> None:
        self.now = -1.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.mark.parametrize(("seconds", "batches"), [(0, 1), (0.5, 1), (1.5, 2), (2.5, 3), (60, 4)])
@pytest.mark.parametrize(("alone", "batch"), [(False, BATCH), (True, 1)])
def test_a_batch_is_begun_while_there_is_time(
    tmp_path: Path, alone: bool, batch: int, seconds: float, batches: int
) -> None:
    lay_out_reranker(tmp_path, alone=alone)
    reranker = OnnxReranker(CurrentModel(ModelsFolder(tmp_path), "reranker", RERANKER), SlowClock())
    assert len(reranker.scores("search", TEXTS[: 4 * batch], seconds=seconds)) == batches * batch
