"""JSON that somebody hostile wrote. Its parts are counted before it is parsed: each takes many times its own size.

An empty list takes three bytes here and 72 in memory, so that a line of 6 MB would take 140 MB.
"""

import json
import re
import threading
from contextlib import nullcontext
from typing import Any

# The end is optional, so that no search begins again inside a text that has none.
TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
LARGE = 1 << 18
_turn = threading.BoundedSemaphore(1)
"""One large message at a time is parsed in this process, whoever sent it."""


class TooManyPartsError(ValueError):
    """It has more parts than may be read."""


def parsed_json(content: bytes, most: int) -> Any:
    """Parse it if it has at most so many parts; `ValueError` if it has more, or is no JSON."""
    if _parts(content, most) > most:
        raise TooManyPartsError(f"it has more than {most:,} parts")
    with _turn if len(content) > LARGE else nullcontext():
        try:
            return json.loads(content, parse_constant=_refuse)
        except RecursionError:
            raise ValueError("it is too deep") from None


def _parts(content: bytes, most: int) -> int:
    """At least the number of values in it; more than `most` if it has too many."""
    # An escaped mark is none. Where one is taken for escaped that ends a text, the one that begins it still counts.
    texts = content.count(b'"') - content.count(b'\\"')
    if texts > most:
        return texts
    found = _separators(content)
    if found > most:  # or they are in its texts, of which there are few
        found = _separators(TEXT.sub(b"", content))
    return max(texts, found)


def _separators(content: bytes) -> int:
    return content.count(b",") + content.count(b"[") + content.count(b"{")


def _refuse(name: str) -> None:
    raise ValueError(name)
