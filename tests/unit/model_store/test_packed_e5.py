"""The file with weights of four bits, and the real model in it."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.models import OnnxEmbedder
from loci.core.errors import Unavailable
from loci.model_store.models import MULTILINGUAL, ModelsFolder, known
from loci.model_store.packed_e5 import read_packed
from loci.model_store.pull import pull
from tests.support.each import each
from tests.support.minilm import NOWHERE
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


@pytest.mark.models
def test_the_real_one_finds_an_answer_in_another_language(tmp_path: Path) -> None:
    shelf = ModelsFolder(tmp_path)
    pull(known(MULTILINGUAL), shelf, NOWHERE)
    embedder = OnnxEmbedder(CurrentModel(shelf, "embedder"))
    questions = [
        "图书馆周日几点开门",
        "Wie viele Menschen wohnen in Lissabon?",
        "Как удалить старые резервные копии?",
    ]
    answers = [
        "On Sundays visitors are let into the library from ten in the morning.",
        "Lisbon has about half a million inhabitants.",
        "Old backups are removed with the command prune.",
    ]
    asked = [embedder.query(one) for one in questions]
    rows = _rows([one.vector for one in asked], "<f4"), _rows([one.vector for one in embedder.passages(answers)], "<f2")
    near = rows[0] @ rows[1].T
    assert near.argmax(1).tolist() == [0, 1, 2]
    assert near.diagonal().min() > asked[0].scale.unrelated_cosine


def _rows(vectors: list[bytes], kind: str) -> npt.NDArray[np.float32]:
    return np.array([np.frombuffer(one, kind).astype(np.float32) for one in vectors])
