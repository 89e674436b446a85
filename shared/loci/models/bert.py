"""BERT's encoder as an ONNX graph, from its weights."""

import math
from typing import TYPE_CHECKING

from loci.models.onnx_graph import OnnxGraph

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from loci.models.safetensors import Weights

EPSILON = 1e-12
FIRST_LAYER = "encoder.layer.{}.attention.self.query.weight"
LARGEST_NEGATIVE = -3.4028234663852886e38


def bert_graph(weights: "Weights", heads: int) -> bytes:
    """The file of a graph from `input_ids, attention_mask, token_type_ids` to `last_hidden_state`."""
    return _Bert(weights, heads).file()


class _Bert:
    def __init__(self, weights: "Weights", heads: int) -> None:
        import numpy as np  # only a conversion needs it

        self._np = np
        self._weights = weights
        self._heads = heads
        self._width = weights["embeddings.word_embeddings.weight"].shape[1]
        self._graph = OnnxGraph("bert")

    def file(self) -> bytes:
        graph, layers = self._graph, 0
        ids, mask, types = (
            graph.input(name, "int64", ("batch", "tokens"))
            for name in ("input_ids", "attention_mask", "token_type_ids")
        )
        self._shapes()
        hidden = self._embeddings(ids, types)
        bias = self._bias(mask)
        while FIRST_LAYER.format(layers) in self._weights:
            hidden = self._layer(f"encoder.layer.{layers}", hidden, bias)
            layers += 1
        graph.node("Identity", hidden, into="last_hidden_state")
        graph.output("last_hidden_state", "float32", ("batch", "tokens", self._width))
        return graph.file()

    def _shapes(self) -> None:
        """What the nodes below name: a 0 in a shape keeps that dimension."""
        shapes = {
            "split": [0, 0, self._heads, self._width // self._heads],
            "join": [0, 0, self._width],
            "zero": [0],
            "middle": [1, 2],
        }
        for name, value in shapes.items():
            self._graph.constant(name, self._np.array(value, "int64"))
        for name, value in {"whole": 1, "half": 0.5, "root": math.sqrt(0.5), "least": LARGEST_NEGATIVE}.items():
            self._graph.constant(name, self._np.array(value, "float32"))

    def _embeddings(self, ids: str, types: str) -> str:
        graph = self._graph
        words = graph.node("Gather", self._constant("embeddings.word_embeddings.weight"), ids)
        kinds = graph.node("Gather", self._constant("embeddings.token_type_embeddings.weight"), types)
        tokens = graph.node("Shape", ids, start=1, end=2)
        places = graph.node("Slice", self._constant("embeddings.position_embeddings.weight"), "zero", tokens, "zero")
        return self._norm("embeddings.LayerNorm", graph.node("Add", graph.node("Add", words, kinds), places))

    def _bias(self, mask: str) -> str:
        """What keeps attention off the padding: added to its scores."""
        graph = self._graph
        real = graph.node("Cast", graph.node("Unsqueeze", mask, "middle"), to=1)
        return graph.node("Mul", graph.node("Sub", "whole", real), "least")

    def _layer(self, name: str, hidden: str, bias: str) -> str:
        graph = self._graph
        # The scale of the scores lies in the weights of the queries: one step less at each call.
        scale = 1 / math.sqrt(self._width // self._heads)
        query = self._split(self._linear(f"{name}.attention.self.query", hidden, scale), (0, 2, 1, 3))
        key = self._split(self._linear(f"{name}.attention.self.key", hidden), (0, 2, 3, 1))
        value = self._split(self._linear(f"{name}.attention.self.value", hidden), (0, 2, 1, 3))
        shares = graph.node("Softmax", graph.node("Add", graph.node("MatMul", query, key), bias), axis=-1)
        seen = graph.node("Transpose", graph.node("MatMul", shares, value), perm=(0, 2, 1, 3))
        seen = self._linear(f"{name}.attention.output.dense", graph.node("Reshape", seen, "join"))
        hidden = self._norm(f"{name}.attention.output.LayerNorm", graph.node("Add", seen, hidden))
        wide = self._gelu(self._linear(f"{name}.intermediate.dense", hidden))
        narrow = self._linear(f"{name}.output.dense", wide)
        return self._norm(f"{name}.output.LayerNorm", graph.node("Add", narrow, hidden))

    def _linear(self, name: str, hidden: str, scale: float = 1.0) -> str:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        matrix = self._graph.constant(f"{name}.weight", self._scaled(weight.T, scale))
        product = self._graph.node("MatMul", hidden, matrix)
        return self._graph.node("Add", product, self._graph.constant(f"{name}.bias", self._scaled(bias, scale)))

    def _scaled(self, array: "npt.NDArray[np.float32]", scale: float) -> "npt.NDArray[np.float32]":
        return array if scale == 1 else array * self._np.float32(scale)

    def _split(self, hidden: str, order: tuple[int, ...]) -> str:
        return self._graph.node("Transpose", self._graph.node("Reshape", hidden, "split"), perm=order)

    def _norm(self, name: str, hidden: str) -> str:
        weight, bias = self._constant(f"{name}.weight"), self._constant(f"{name}.bias")
        return self._graph.node("LayerNormalization", hidden, weight, bias, axis=-1, epsilon=EPSILON)

    def _gelu(self, hidden: str) -> str:
        graph = self._graph
        error = graph.node("Erf", graph.node("Mul", hidden, "root"))
        return graph.node("Mul", graph.node("Mul", hidden, graph.node("Add", error, "whole")), "half")

    def _constant(self, name: str) -> str:
        return self._graph.constant(name, self._weights[name])
