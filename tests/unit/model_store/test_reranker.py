"""The reranker reads for as long as it may."""

from pathlib import Path

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.models import PAIRS_A_BATCH, OnnxReranker
from loci.model_store.models import ModelsFolder
from tests.support.each import each
from tests.support.small_models import RERANKER, lay_out_reranker

TEXTS = ["the memory"] * (4 * PAIRS_A_BATCH)


class SlowClock:
    """A clock on which each batch takes a second."""

    def __init__(self) -> None:
        self.now = -1.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@each(("alone", "batch"), [(False, PAIRS_A_BATCH), (True, 1)])
def test_a_batch_is_begun_while_there_is_time(tmp_path: Path, alone: bool, batch: int) -> None:
    folder = tmp_path / str(alone)
    folder.mkdir()
    lay_out_reranker(folder, alone=alone)
    for seconds, batches in ((0, 1), (0.5, 1), (1.5, 2), (2.5, 3), (60, 4)):
        reranker = OnnxReranker(CurrentModel(ModelsFolder(folder), "reranker", RERANKER), SlowClock())
        scores = reranker.scores("search", TEXTS[: 4 * batch], seconds=seconds)
        assert len(scores) == batches * batch, f"in {seconds} s"
