"""Frames between supervisor and executor: a kind, a length, and bytes of that length."""

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


def send(descriptor: int, frame: bytes, sent: list[int]) -> None:
    """Write what is left of the frame. `sent` has what was written of it, whatever may be raised meanwhile."""
    while (at := sum(sent)) < len(frame):
        # One call both writes and counts: nothing that is raised in this thread comes between.
        sent.extend(map(_write, (descriptor,), (memoryview(frame)[at:],)))


def write(descriptor: int, kind: Kind, payload: bytes | memoryview) -> None:
    """Write one frame, whole: what the caller's code raises in this thread meanwhile is raised after it."""
    frame, sent = packed(kind, payload), list[int]()
    raised: BaseException | None = None
    while True:
        try:
            send(descriptor, frame, sent)
            break
        except OSError:
            raise
        except BaseException as error:  # noqa: BLE001
            raised = error
    if raised is not None:
        raise raised


def read(descriptor: int, got: bytearray | None = None) -> tuple[bytes, bytes]:
    """The next frame's kind and bytes; `EOFError` if the other side has closed.

    `got` has what was read of it, whatever may be raised meanwhile: reading goes on there.
    """
    got = bytearray() if got is None else got
    while True:
        have, wanted = len(got), HEAD.size
        if have >= wanted:
            kind, length = HEAD.unpack_from(got)
            wanted += length
            if have == wanted:
                return kind, bytes(memoryview(got)[HEAD.size :])
        # As above, nothing comes between reading and keeping.
        list(map(got.extend, map(_read, (descriptor,), (min(PIECE, wanted - have),))))
        if len(got) == have:
            raise EOFError
