"""The file with weights of four bits, and the real model in it."""

from pathlib import Path

import numpy as np
import pytest

from loci.core.errors import Unavailable
from loci.model_store.packed_e5 import read_packed
from tests.support.each import each
from tests.support.small_models import HEADS, random_weights
from tests.unit.model_store.weights import packed_e5

WEIGHTS = random_weights(1)
CONTENT = packed_e5(WEIGHTS, ["<s>", "<pad>", "</s>", "<unk>", "▁a", "<mask>"], HEADS)


def test_weights_are_read_to_half_a_step_of_four_bits(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(CONTENT)
    read = read_packed(tmp_path / "weights").weights
    assert read.keys() == WEIGHTS.keys()
    for name, wanted in WEIGHTS.items():
        assert read[name].shape == wanted.shape
        blocks = np.abs(read[name] - wanted).reshape(-1, 32), np.abs(wanted).reshape(-1, 32)
        assert np.all(blocks[0].max(1) <= 0.51 * blocks[1].max(1) / 7), name


@each("content", [b"", b"GGUF" + CONTENT[4:], CONTENT[:60], CONTENT[:400], CONTENT[:-100]])
def test_a_file_without_such_weights_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "weights").write_bytes(content)
    with pytest.raises(Unavailable) as told:
        read_packed(tmp_path / "weights")
    assert told.value.code == "MODEL_DAMAGED"
