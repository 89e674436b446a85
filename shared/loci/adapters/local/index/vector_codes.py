"""The short form of a vector: two bits for each dimension, by which a search finds the vectors that may be near.

The first bit is the sign, the second says whether the number is among the greater ones of its sign. The code has all
first bits, then all second bits, each in whole words of 64. No numpy: to write a passage does not load it.
"""

import math
import struct
from functools import cache

WORD = 8
"""Bytes."""
GREAT = 0.94
"""The least of the great numbers, in root mean squares of the vector. The levels are then as one to three."""


def code_of(vector: bytes) -> bytes:
    """The code of a stored vector: little-endian float16."""
    high = vector[1::2]
    signs, halves = _tables(len(high))
    return _packed(high.translate(signs)) + _packed(high.translate(halves))


def code_bytes(dimensions: int) -> int:
    """The length of the codes."""
    return 2 * WORD * -(-dimensions // (8 * WORD))


def _packed(digits: bytes) -> bytes:
    length = code_bytes(len(digits)) // 2
    return int(digits.ljust(8 * length, b"0") or b"0", 2).to_bytes(length, "big")


@cache
def _tables(dimensions: int) -> tuple[bytes, bytes]:
    """The digits of the two bits for the upper byte of a float16, which has the sign and the first bits of the size."""
    sign = bytearray(b"1" * 128 + b"0" * 128)
    [least] = struct.pack("<e", GREAT / math.sqrt(max(1, dimensions)))[1:]
    half = bytearray(b"0" * 256)
    for size in range(128):
        half[size if size >= least else 128 + size] = ord("1")
    return bytes(sign), bytes(half)
