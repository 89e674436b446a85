"""The ONNX graph that is written from a BERT's weights."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest

from loci.core.errors import Unavailable
from loci.model_store.bert_onnx import bert_graph, read_weights
from tests.support.each import each
from tests.support.small_models import HEADS, LONGEST, VOCABULARY, WIDTH, random_weights
from tests.unit.model_store.forward import hidden_states
from tests.unit.model_store.weights import safetensors

IDS = np.array([[2, 10, 11, 12, 13, 3], [2, 20, 21, 3, 0, 0], [2, 3, 0, 0, 0, 0]])
MASK = (IDS > 0).astype("int64")


def run(graph: bytes, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    onnxruntime: Any = import_module("onnxruntime")  # it has no types
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    return session.run(["last_hidden_state"], {"input_ids": ids, "token_type_ids": np.zeros_like(ids)})[0]


def test_the_graph_is_valid() -> None:
    model = onnx.load_model_from_string(bert_graph(random_weights(1), HEADS))
    onnx.checker.check_model(model, full_check=True)  # pyright: ignore[reportUnknownMemberType]
    assert [one.name for one in model.graph.input] == ["input_ids", "token_type_ids"]


@each("seed", [1, 2, 3])
def test_its_result_is_that_of_the_same_sums_in_numpy_but_for_the_rounding(seed: int) -> None:
    weights = random_weights(seed)
    graph = bert_graph(weights, HEADS)
    got = np.concatenate([run(graph, one[None, : mask.sum()])[0] for one, mask in zip(IDS, MASK, strict=True)])
    wanted = hidden_states(weights, HEADS, IDS, MASK)[MASK == 1]
    cosines = (got * wanted).sum(-1) / np.linalg.norm(got, axis=-1) / np.linalg.norm(wanted, axis=-1)
    assert cosines.min() >= 0.999
    assert np.allclose(got, wanted, atol=0.25)


def test_an_input_may_be_as_long_as_the_model_has_positions() -> None:
    ids = np.random.default_rng(1).integers(4, len(VOCABULARY), (1, LONGEST))
    assert run(bert_graph(random_weights(1), HEADS), ids).shape == (1, LONGEST, WIDTH)


def test_the_same_weights_make_the_same_file() -> None:
    assert bert_graph(random_weights(1), HEADS) == bert_graph(random_weights(1), HEADS)


def test_weights_are_read_as_they_were_written(tmp_path: Path) -> None:
    weights = random_weights(1)
    (tmp_path / "weights").write_bytes(safetensors(weights))
    read = read_weights(tmp_path / "weights")
    assert read.keys() == weights.keys()
    assert all(np.array_equal(read[name], weights[name]) for name in weights)


@each("content", [b"", b"\xff" * 100, b"\x02" + b"\0" * 7 + b"[]", b"\x05" + b"\0" * 7 + b'{"a":'])
def test_what_holds_no_weights_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "weights").write_bytes(content)
    with pytest.raises(Unavailable) as told:
        read_weights(tmp_path / "weights")
    assert told.value.code == "MODEL_DAMAGED"


def test_weights_that_end_too_early_are_refused(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(safetensors(random_weights(1))[:-1])
    with pytest.raises(Unavailable):
        read_weights(tmp_path / "weights")
