"""Builds an ONNX graph node by node, and writes its file in the format of protocol buffers."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# The oldest operator set with LayerNormalization. A reader must know format 8.
OPSET, FORMAT = 17, 8
MICROSOFT = "com.microsoft"
OF_MICROSOFT = {"MultiHeadAttention"}
"""Operators that onnxruntime has besides those of ONNX."""
ELEMENT_TYPES = {"float32": 1, "int8": 3, "int64": 7}
FLOAT, INTEGER, INTEGERS = 1, 2, 7

Attribute = int | float | Sequence[int]
Shape = Sequence[int | str]
"""The dimensions: a number each, or a name if the size differs from call to call."""


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
