"""Frames between supervisor and executor: a kind, a length, and so many bytes."""

import struct
from collections.abc import Iterator
from os import read as _read
from os import write as _write
from typing import Literal

Kind = Literal[b"J", b"B"]
JSON: Literal[b"J"] = b"J"
BYTES: Literal[b"B"] = b"B"
HEAD = struct.Struct(">cI")
PIECE = 1 << 20
"""The largest frame that `pieces` makes, in bytes."""


def packed(kind: Kind, payload: bytes | memoryview) -> bytes:
    """The frame, ready to be written."""
    return HEAD.pack(kind, len(payload)) + payload


def pieces(payload: bytes | memoryview) -> Iterator[memoryview]:
    """Cut the bytes into the contents of frames."""
    whole = memoryview(payload)
    for at in range(0, len(whole), PIECE):
        yield whole[at : at + PIECE]


def write(descriptor: int, kind: Kind, payload: bytes | memoryview) -> None:
    """Write one frame, whole."""
    for part in (HEAD.pack(kind, len(payload)), payload):
        left = memoryview(part)
        while left:
            left = left[_write(descriptor, left) :]


def read(descriptor: int) -> tuple[bytes, bytes]:
    """The next frame's kind and bytes; `EOFError` if the other side has closed."""
    kind, length = HEAD.unpack(_exactly(descriptor, HEAD.size))
    return kind, _exactly(descriptor, length)


def _exactly(descriptor: int, length: int) -> bytes:
    got = bytearray()
    while len(got) < length:
        part = _read(descriptor, min(PIECE, length - len(got)))
        if not part:
            raise EOFError
        got += part
    return bytes(got)
