"""Questions that a run asks whoever began it, and the answers, as rows of a table.

Each message takes as many rows as its size needs.
"""

import itertools
import json
import threading
import time
import zlib
from collections.abc import Mapping
from typing import Any, Protocol

from loci.sandbox.lambda_host.run_rows import LentCredentials, RowsError, RowsLocation, TableRows
from loci.sandbox.supervisor.bounded_json import parsed_json

PART = 300_000
"""Bytes of a message in one row, which may have 400 KB."""
QUESTION, ANSWER = "question", "answer"
LARGEST = {QUESTION: 2 << 20, ANSWER: 8 << 20}
"""Bytes of a message: more than a call may ask or a tool may answer."""
MOST_PARTS = {QUESTION: 100_000, ANSWER: 600_000}
"""Values of a message."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.2


class MessageRows(Protocol):
    """The rows of one run."""

    def put(self, sort: str, body: bytes) -> None:
        """Write one."""
        ...

    def starting(self, prefix: str, most: int) -> list[bytes]:
        """Those whose keys begin so, in order. Past so many bytes no more are read."""
        ...

    def close(self) -> None:
        """Close the connections: nothing more is asked."""
        ...


class BadMessageError(ValueError):
    """It is no message, or too long."""


def send(rows: MessageRows, kind: str, number: int, content: object) -> None:
    """Write the message. Its first part comes last, so that whoever sees it has all parts."""
    compressed = zlib.compress(json.dumps(content).encode(), 1)
    parts = [compressed[at : at + PART] for at in range(0, len(compressed), PART)]
    for part in reversed(range(len(parts))):
        rows.put(f"{_prefix(kind, number)}{part:04}", parts[part])


def receive(rows: MessageRows, kind: str, number: int) -> Any:
    """The message of that number; None until it has come. Its writer may be hostile."""
    if not rows.starting(f"{_prefix(kind, number)}0000", 1):
        return None
    largest = LARGEST[kind]
    compressed = b"".join(rows.starting(_prefix(kind, number), largest))
    opened = zlib.decompressobj()
    try:
        if len(compressed) > largest:
            raise BadMessageError("it is too long")
        content = opened.decompress(compressed, largest)
        if opened.unconsumed_tail or not opened.eof:
            raise BadMessageError("it is too long")
        return parsed_json(content, MOST_PARTS[kind])
    except (zlib.error, ValueError) as error:
        raise BadMessageError(str(error)) from None


class QuestionLine:
    """Lets a run ask questions, from any thread. Once the run has ended nobody answers, and nobody waits."""

    def __init__(self, rows: MessageRows, until: float) -> None:
        self._rows = rows
        self._until = until
        self._numbers = itertools.count(1)
        self._closed = threading.Event()

    def ask(self, question: object) -> dict[str, Any] | None:
        """The answer; None if none comes before the run's end, or the table cannot be reached."""
        number, pause = next(self._numbers), SHORTEST_PAUSE
        try:
            send(self._rows, QUESTION, number, question)
            while time.monotonic() < self._until and not self._closed.wait(pause):
                pause = min(LONGEST_PAUSE, pause * 1.3)
                answer = receive(self._rows, ANSWER, number)
                if isinstance(answer, dict):
                    return answer  # pyright: ignore[reportUnknownVariableType]
        except (RowsError, BadMessageError):
            pass
        return None

    def close(self) -> None:
        """Stop waiting for answers."""
        self._closed.set()
        self._rows.close()


def open_line(where: Mapping[str, Any] | None, seconds: float) -> QuestionLine | None:
    """The line to whoever began the run, for so long; None if the event names no rows for it."""
    if where is None:
        return None
    lent = LentCredentials(**where["lent"])
    place = RowsLocation(where["url"], where["region"], where["table"], where["partition"], lent)
    return QuestionLine(TableRows(place), time.monotonic() + seconds)


def _prefix(kind: str, number: int) -> str:
    return f"{kind}#{number:06}#"
