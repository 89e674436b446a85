"""The sizes of texts in JSON, where one letter may take six bytes, and texts that are cut to such a size."""

import json
from collections.abc import Callable, Collection
from typing import Any

from loci.search.snippet import ELLIPSIS, snippet

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
FEWEST = 8
"""Characters. Less of a text says nothing."""


def json_size(value: Any) -> int:
    """Bytes as JSON; of a text without its quotation marks."""
    written = len(_JSON.encode(value).encode("utf-8", "replace"))
    return written - 2 if isinstance(value, str) else written


def beginning(text: str, most: int) -> str:
    """At most so many bytes of the text, from its beginning."""
    return _longest(text, most, lambda count: text[:count] + ELLIPSIS)


def ending(text: str, most: int) -> str:
    """At most so many bytes of the text, up to its end."""
    return _longest(text, most, lambda count: ELLIPSIS + text[len(text) - count :])


def excerpt(text: str, words: Collection[str], room: int, most: int) -> str:
    """At most `room` characters and `most` bytes of the text, where most of the words are."""
    room = min(len(text), room, len(text) * most // max(1, json_size(text)))
    return "" if room < FEWEST else beginning(snippet(text, words, room), most)


def _longest(text: str, most: int, cut: Callable[[int], str]) -> str:
    if json_size(text) <= most:
        return text
    low, high = 0, min(len(text), most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if json_size(cut(middle)) <= most else (low, middle - 1)
    return cut(low)
