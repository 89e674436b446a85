"""Small random models, laid out as pulled ones: they run in no time, and mean nothing."""

import string
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from loci.model_store.bert_onnx import Weights, bert_graph
from loci.model_store.models import (
    MANIFEST_FILE,
    MANIFESTS,
    MODEL_FILE,
    TOKENIZER_FILE,
    Embeds,
    Hub,
    Manifest,
    ModelFile,
    sha256_of,
)

EMBEDDER, RERANKER = "small-embedder", "small-reranker"
LAYERS, WIDTH, HEADS, LONGEST = 2, 32, 4, 64
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
CHARACTERS = string.ascii_lowercase + string.digits + ".,:;!?-"
VOCABULARY = [*SPECIAL, *CHARACTERS, *(f"##{one}" for one in CHARACTERS), "the", "ing", "##ing", "memory", "search"]


@pytest.fixture(scope="session")
def small_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with an embedder and a reranker."""
    folder = tmp_path_factory.mktemp("models")
    lay_out_embedder(folder)
    lay_out_reranker(folder)
    return folder


def lay_out_embedder(folder: Path, name: str = EMBEDDER, *, seed: int = 1, embeds: Embeds | None = None) -> Manifest:
    """The embedder below the folder; another seed makes another model."""
    embeds = embeds or Embeds(dimensions=WIDTH, pooling="mean", scripts=("LATIN",))
    return _lay_out(folder, name, bert_graph(random_weights(seed), HEADS), embeds)


def lay_out_reranker(
    folder: Path, name: str = RERANKER, *, seed: int = 2, layers: int = LAYERS, width: int = WIDTH, alone: bool = True
) -> Manifest:
    """The reranker below the folder. Like the real ones it asks for no types of tokens."""
    encoder = bert_graph(random_weights(seed, layers, width), HEADS)
    return _lay_out(folder, name, _scoring(encoder, seed, width), None, alone=alone)


def small_tokenizer() -> Tokenizer:
    """WordPiece with a letter a token, for all but a few words."""
    vocabulary = {token: number for number, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    # As many published ones do: what a file says of padding and length must not count.
    tokenizer.enable_truncation(8)  # pyright: ignore[reportUnknownMemberType]
    tokenizer.enable_padding(length=8)  # pyright: ignore[reportUnknownMemberType]
    return tokenizer


def random_weights(seed: int, layers: int = LAYERS, width: int = WIDTH) -> Weights:
    """A BERT's, under the names that its makers gave them."""
    random = np.random.default_rng(seed)
    weights: Weights = {}

    def put(name: str, *shape: int, around: float = 0.0, spread: float = 0.2) -> None:
        weights[name] = (around + spread * random.standard_normal(shape)).astype("float32")

    def linear(name: str, into: int, out: int) -> None:
        put(f"{name}.weight", out, into)
        put(f"{name}.bias", out)

    def norm(name: str) -> None:
        put(f"{name}.weight", width, around=1.0)
        put(f"{name}.bias", width)

    for name, rows in (("word", len(VOCABULARY)), ("position", LONGEST), ("token_type", 2)):
        put(f"embeddings.{name}_embeddings.weight", rows, width, spread=1.0)
    norm("embeddings.LayerNorm")
    for layer in (f"encoder.layer.{number}" for number in range(layers)):
        for part in ("query", "key", "value"):
            linear(f"{layer}.attention.self.{part}", width, width)
        linear(f"{layer}.attention.output.dense", width, width)
        norm(f"{layer}.attention.output.LayerNorm")
        linear(f"{layer}.intermediate.dense", width, 4 * width)
        linear(f"{layer}.output.dense", 4 * width, width)
        norm(f"{layer}.output.LayerNorm")
    return weights


def _lay_out(folder: Path, name: str, graph: bytes, embeds: Embeds | None, *, alone: bool = True) -> Manifest:
    place = folder / name
    place.mkdir(parents=True)
    (place / MODEL_FILE).write_bytes(graph)
    small_tokenizer().save(str(place / TOKENIZER_FILE))
    files = tuple(_found(place / file) for file in (MODEL_FILE, TOKENIZER_FILE))
    manifest = Manifest(name, Hub("loci/small"), files, LONGEST, "Apache-2.0", embeds, alone=alone)
    (place / MANIFEST_FILE).write_bytes(MANIFESTS.dump_json(manifest))
    return manifest


def _found(path: Path) -> ModelFile:
    return ModelFile(path.name, path.name, sha256_of(path), path.stat().st_size)


def _scoring(encoder: bytes, seed: int, width: int) -> bytes:
    """The encoder with a linear layer over its first token."""
    model = onnx.load_model_from_string(encoder)
    graph = model.graph
    head = np.random.default_rng(seed).standard_normal((width, 1)).astype("float32")
    graph.initializer.append(helper.make_tensor("head", TensorProto.FLOAT, head.shape, head.flatten().tolist()))
    graph.initializer.append(helper.make_tensor("first", TensorProto.INT64, [], [0]))
    types = helper.make_node("Sub", ["input_ids", "input_ids"], ["token_type_ids"])
    inputs: Sequence[onnx.ValueInfoProto] = [one for one in graph.input if one.name != "token_type_ids"]
    del graph.input[:], graph.output[:]
    graph.input.extend(inputs)
    graph.node.insert(0, types)
    graph.node.append(helper.make_node("Gather", ["last_hidden_state", "first"], ["beginning"], axis=1))
    graph.node.append(helper.make_node("MatMul", ["beginning", "head"], ["logits"]))
    graph.output.append(helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1]))
    return model.SerializeToString()
