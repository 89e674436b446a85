"""An ONNX graph that is put together node by node, and its file."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from loci.model_store.bert_converter import protobuf

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# The oldest with LayerNormalization; what reads it must know format 8.
OPSET, FORMAT = 17, 8
ELEMENT_TYPES = {"float32": 1, "int8": 3, "int64": 7}
FLOAT, INTEGER, INTEGERS = 1, 2, 7

Attribute = int | float | Sequence[int]
Shape = Sequence[int | str]
"""Dimensions: a number, or the name of one that differs from call to call."""


class OnnxGraph:
    """Nodes and constants. What a node gives is known by its name, as in `y = graph.node("Add", a, b)`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._ends: list[bytes] = []

    def node(self, operator: str, *inputs: str, into: str | None = None, **attributes: Attribute) -> str:
        """The name of the node's output."""
        return self._add(operator, inputs, [into or f"{operator}_{len(self._nodes)}"], attributes)[0]

    def nodes(self, operator: str, *inputs: str, outputs: int, **attributes: Attribute) -> list[str]:
        """The names of the outputs of a node that has several."""
        names = [f"{operator}_{len(self._nodes)}_{number}" for number in range(outputs)]
        return self._add(operator, inputs, names, attributes)

    def constant(self, name: str, value: "npt.NDArray[np.generic]") -> str:
        """The name of the array, which the file holds."""
        kind = ELEMENT_TYPES[value.dtype.name]
        raw = value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
        fields = (
            protobuf.packed(1, value.shape),
            protobuf.integer(2, kind),
            protobuf.text(8, name),
            protobuf.message(9, raw),
        )
        self._constants.append(protobuf.message(5, *fields))
        return name

    def input(self, name: str, kind: str, shape: Shape) -> str:
        self._ends.append(protobuf.message(11, *_typed(name, kind, shape)))
        return name

    def output(self, name: str, kind: str, shape: Shape) -> None:
        self._ends.append(protobuf.message(12, *_typed(name, kind, shape)))

    def _add(
        self, operator: str, inputs: Sequence[str], outputs: list[str], attributes: Mapping[str, Attribute]
    ) -> list[str]:
        fields = (
            *(protobuf.text(1, name) for name in inputs),
            *(protobuf.text(2, name) for name in outputs),
            protobuf.text(3, outputs[0]),
            protobuf.text(4, operator),
            *(_attribute(name, value) for name, value in attributes.items()),
        )
        self._nodes.append(protobuf.message(1, *fields))
        return outputs

    def file(self) -> bytes:
        """The bytes of the model's file: the same for the same graph."""
        graph = protobuf.message(7, *self._nodes, protobuf.text(2, self._name), *self._constants, *self._ends)
        opset = protobuf.message(8, protobuf.integer(2, OPSET))
        return b"".join((protobuf.integer(1, FORMAT), protobuf.text(2, "loci"), graph, opset))


def _attribute(name: str, value: Attribute) -> bytes:
    match value:
        case int():
            fields = (protobuf.integer(3, value), protobuf.integer(20, INTEGER))
        case float():
            fields = (protobuf.single(2, value), protobuf.integer(20, FLOAT))
        case _:
            fields = (*(protobuf.integer(8, one) for one in value), protobuf.integer(20, INTEGERS))
    return protobuf.message(5, protobuf.text(1, name), *fields)


def _typed(name: str, kind: str, shape: Shape) -> tuple[bytes, bytes]:
    dimensions = (
        protobuf.message(1, protobuf.text(2, size) if isinstance(size, str) else protobuf.integer(1, size))
        for size in shape
    )
    tensor = protobuf.message(1, protobuf.integer(1, ELEMENT_TYPES[kind]), protobuf.message(2, *dimensions))
    return protobuf.text(1, name), protobuf.message(2, tensor)
