"""Questions out of a run and the answers to them, as rows: each in as many parts as its size takes."""

import json
import zlib
from typing import Any, Protocol

PART = 300_000
"""Bytes: of the 400 KB that a row may have."""
LARGEST = 8 << 20
"""Bytes of a letter: more than a call may ask or a tool may answer."""
QUESTION, ANSWER = "question", "answer"


class MessageRows(Protocol):
    """The rows of one run."""

    def put(self, sort: str, body: bytes) -> None:
        """Write one."""
        ...

    def starting(self, prefix: str) -> list[bytes]:
        """Those whose keys begin so, in order."""
        ...

    def close(self) -> None:
        """Nothing is asked any more."""
        ...


class BadLetterError(ValueError):
    """It is no letter, or too long a one."""


def send(rows: MessageRows, kind: str, number: int, content: object) -> None:
    """Write the letter. Its first part comes last: who sees it has all."""
    packed = zlib.compress(json.dumps(content).encode(), 1)
    parts = [packed[at : at + PART] for at in range(0, len(packed), PART)]
    for part in reversed(range(len(parts))):
        rows.put(f"{_name(kind, number)}{part:04}", parts[part])


def receive(rows: MessageRows, kind: str, number: int) -> Any:
    """The letter of that number; None while it has not come. Whoever wrote it may be hostile."""
    if not rows.starting(f"{_name(kind, number)}0000"):
        return None
    packed = b"".join(rows.starting(_name(kind, number)))
    opened = zlib.decompressobj()
    try:
        content = opened.decompress(packed, LARGEST)
        if opened.unconsumed_tail or not opened.eof:
            raise BadLetterError("it is too long")
        return json.loads(content)
    except (zlib.error, ValueError, RecursionError) as error:
        raise BadLetterError(str(error)) from None


def _name(kind: str, number: int) -> str:
    return f"{kind}#{number:06}#"
