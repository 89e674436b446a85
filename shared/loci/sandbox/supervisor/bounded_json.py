"""JSON that somebody hostile wrote. Its parts are counted before it is parsed: each takes many times its own size.

An empty list takes three bytes here and 72 in memory, so that a line of 6 MB would take 140 MB.
"""

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

LARGE = 1 << 18
PAUSE, LONGEST_PAUSE = 2, 0.5
"""The pause after a large text: a multiple of the time that it took, and the most seconds."""


class TooManyPartsError(ValueError):
    """The text has more parts than may be read."""


class _LargeTexts:
    """Lets one large text be parsed at a time, with a pause before the next: meanwhile no other thread runs Python."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._free_at = 0.0

    @contextmanager
    def turn(self) -> Generator[None]:
        with self._turn:
            time.sleep(max(0.0, self._free_at - time.monotonic()))
            began = time.thread_time()
            try:
                yield
            finally:
                took = time.thread_time() - began
                self._free_at = time.monotonic() + min(PAUSE * took, LONGEST_PAUSE)


_large_texts = _LargeTexts()


def parsed_json(content: bytes, most: int) -> Any:
    """Parse the content if it has at most `most` parts; `ValueError` if it has more, or is no JSON."""
    if len(content) <= LARGE:
        return _parsed(content, most)
    with _large_texts.turn():
        return _parsed(content, most)


def _parsed(content: bytes, most: int) -> Any:
    if _parts(content, most) > most:
        raise TooManyPartsError(f"it has more than {most:,} parts")
    try:
        # As text: of bytes, the parser also takes UTF-16, in which we would count wrongly.
        return json.loads(content.decode(), parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is too deep") from None


def _parts(content: bytes, most: int) -> int:
    """Count the values: at least the number of them, and more than `most` if there are too many."""
    # Without what is escaped, each other quotation mark begins or ends a text.
    plain = content.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in content else content
    quotes = plain.count(b'"')
    found = _separators(plain)
    if quotes <= most < found:  # or they are in its texts
        found = _separators(b"".join(plain.split(b'"')[::2]))
    return max(quotes, found)


def _separators(content: bytes) -> int:
    return content.count(b",") + content.count(b"[") + content.count(b"{")


def _refuse(name: str) -> None:
    raise ValueError(name)
