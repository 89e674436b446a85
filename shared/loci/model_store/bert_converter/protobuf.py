"""Protocol buffers, as far as an ONNX file needs them: fields of integers, floats, bytes and messages."""

import struct
from collections.abc import Iterable


def integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def single(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def text(field: int, value: str) -> bytes:
    return message(field, value.encode())


def message(field: int, *parts: bytes) -> bytes:
    """A field that holds bytes, or the fields of another message one after the other."""
    return b"".join((_varint(field << 3 | 2), _varint(sum(map(len, parts))), *parts))


def packed(field: int, values: Iterable[int]) -> bytes:
    return message(field, *map(_varint, values))


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # a negative one counts down from 2**64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
