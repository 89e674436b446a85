"""BERT's encoder as an ONNX graph, from its weights, which it holds as whole numbers of one byte.

A question waits for the weights to come from memory: a quarter of the bytes is a third of the time.
"""

import math
from typing import TYPE_CHECKING

from loci.model_store.bert_converter.onnx_graph import OnnxGraph

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from loci.model_store.bert_converter.safetensors import Weights

    Floats = npt.NDArray[np.float32]

EPSILON = SMALLEST = 1e-12
FIRST_LAYER = "encoder.layer.{}.attention.self.query.weight"
LARGEST_NEGATIVE = -3.4028234663852886e38
LARGEST_WEIGHT = 63
"""Of 127: processors without VNNI add two products of bytes in 16 bits, which larger ones overflow."""
LARGEST_BYTE = 127


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
            "three": [self._width] * 3,
            "zero": [0],
            "middle": [1, 2],
        }
        for name, value in shapes.items():
            self._graph.constant(name, self._np.array(value, "int64"))
        for name, value in {"whole": 1, "half": 0.5, "root": math.sqrt(2), "least": LARGEST_NEGATIVE}.items():
            self._graph.constant(name, self._np.array(value, "float32"))

    def _embeddings(self, ids: str, types: str) -> str:
        graph = self._graph
        words = self._words(ids)
        kinds = graph.node("Gather", self._constant("embeddings.token_type_embeddings.weight"), types)
        tokens = graph.node("Shape", ids, start=1, end=2)
        places = graph.node("Slice", self._constant("embeddings.position_embeddings.weight"), "zero", tokens, "zero")
        return self._norm("embeddings.LayerNorm", graph.node("Add", graph.node("Add", words, kinds), places))

    def _words(self, ids: str) -> str:
        table, name = self._weights["embeddings.word_embeddings.weight"], "embeddings.word_embeddings"
        rows, sizes = self._rounded(table, 1, LARGEST_BYTE)
        found = self._graph.node("Gather", self._graph.constant(f"{name}.weight", rows), ids)
        size = self._graph.node("Gather", self._graph.constant(f"{name}.size", sizes), ids)
        return self._graph.node("Mul", self._graph.node("Cast", found, to=1), size)

    def _bias(self, mask: str) -> str:
        """What keeps attention off the padding: added to its scores."""
        graph = self._graph
        real = graph.node("Cast", graph.node("Unsqueeze", mask, "middle"), to=1)
        return graph.node("Mul", graph.node("Sub", "whole", real), "least")

    def _layer(self, name: str, hidden: str, bias: str) -> str:
        graph = self._graph
        query, key, value = graph.nodes("Split", self._asked(name, hidden), "three", outputs=3, axis=-1)
        query, key = self._split(query, (0, 2, 1, 3)), self._split(key, (0, 2, 3, 1))
        value = self._split(value, (0, 2, 1, 3))
        shares = graph.node("Softmax", graph.node("Add", graph.node("MatMul", query, key), bias), axis=-1)
        seen = graph.node("Transpose", graph.node("MatMul", shares, value), perm=(0, 2, 1, 3))
        seen = self._linear(f"{name}.attention.output.dense", graph.node("Reshape", seen, "join"))
        hidden = self._norm(f"{name}.attention.output.LayerNorm", graph.node("Add", seen, hidden))
        wide = self._gelu(self._linear(f"{name}.intermediate.dense", hidden))
        narrow = self._linear(f"{name}.output.dense", wide)
        return self._norm(f"{name}.output.LayerNorm", graph.node("Add", narrow, hidden))

    def _asked(self, name: str, hidden: str) -> str:
        """Queries, keys and values side by side: one product."""
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        matrices = [self._weights[f"{part}.weight"].T for part in parts]
        biases = [self._weights[f"{part}.bias"] for part in parts]
        # The scale of the scores lies in the weights of the queries: one step less at each call.
        scale = self._np.float32(1 / math.sqrt(self._width // self._heads))
        matrices[0], biases[0] = matrices[0] * scale, biases[0] * scale
        joined = self._np.concatenate(matrices, axis=1), self._np.concatenate(biases)
        return self._product(f"{name}.attention.self", hidden, *joined)

    def _linear(self, name: str, hidden: str) -> str:
        return self._product(name, hidden, self._weights[f"{name}.weight"].T, self._weights[f"{name}.bias"])

    def _product(self, name: str, hidden: str, matrix: "Floats", bias: "Floats") -> str:
        graph = self._graph
        columns, sizes = self._rounded(matrix, 0, LARGEST_WEIGHT)
        rounded, size, zero = graph.nodes("DynamicQuantizeLinear", hidden, outputs=3)
        sums = graph.node("MatMulInteger", rounded, graph.constant(f"{name}.weight", columns), zero)
        scale = graph.node("Mul", size, graph.constant(f"{name}.size", sizes[0]))
        product = graph.node("Mul", graph.node("Cast", sums, to=1), scale)
        return graph.node("Add", product, graph.constant(f"{name}.bias", bias))

    def _rounded(self, array: "Floats", axis: int, largest: int) -> "tuple[npt.NDArray[np.int8], Floats]":
        """Whole numbers, and by what those along the axis are multiplied."""
        most = self._np.abs(array).max(axis, keepdims=True)
        sizes: Floats = self._np.maximum(most / self._np.float32(largest), self._np.float32(SMALLEST))
        return self._np.round(array / sizes).astype(self._np.int8), sizes

    def _split(self, hidden: str, order: tuple[int, ...]) -> str:
        return self._graph.node("Transpose", self._graph.node("Reshape", hidden, "split"), perm=order)

    def _norm(self, name: str, hidden: str) -> str:
        weight, bias = self._constant(f"{name}.weight"), self._constant(f"{name}.bias")
        return self._graph.node("LayerNormalization", hidden, weight, bias, axis=-1, epsilon=EPSILON)

    def _gelu(self, hidden: str) -> str:
        graph = self._graph
        error = graph.node("Erf", graph.node("Div", hidden, "root"))
        # onnxruntime knows these five by their order, and makes one of them.
        return graph.node("Mul", graph.node("Mul", hidden, graph.node("Add", error, "whole")), "half")

    def _constant(self, name: str) -> str:
        return self._graph.constant(name, self._weights[name])
