"""The results of tasks, as stores and answers can hold them."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loci.core.errors import Refused
from loci.core.json import Json, JsonObject

DEEPEST: Final = 100
"""Lists and objects inside each other. What checks and writes answers has such a bound, too."""


@dataclass(frozen=True, slots=True)
class WithMedia:
    """What a task gave: a value, and images, sounds and files that are not in it."""

    value: Json
    media: tuple[JsonObject, ...]
    """Content blocks of the protocol."""


Given = Json | WithMedia


def size_of(value: Json) -> int:
    """The bytes that the value takes in an answer."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def share(sizes: Sequence[int], room: int) -> int:
    """The most that one of them may take so that all fit: small ones stay whole, large ones get the same."""
    for at, size in enumerate(sorted(sizes)):
        part = room // (len(sizes) - at)
        if size > part:
            return part
        room -= size
    return max(sizes, default=0)


def storable(value: Json) -> tuple[Json, int]:
    """The value as JSON has it, and the length of its text. Raises `Refused` if it is too deep.

    NaN and the infinities become null, as JavaScript writes them: what a task did is not lost because of them.
    """
    if _is_deep(value):
        raise Refused(
            f"It has run, but what it gave is nested more than {DEEPEST} levels deep",
            "Have it give less deep values",
            code="RESULT_TOO_DEEP",
        )
    try:
        return value, len(json.dumps(value, allow_nan=False))
    except ValueError:
        value = _without_nan(value)
        return value, len(json.dumps(value, allow_nan=False))


def _is_deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for one in level
            if isinstance(one, list | dict)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, list | dict)
        ]
        if not level:
            return False
    return True


def _without_nan(value: Json) -> Json:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [_without_nan(one) for one in value]
        case dict():
            return {name: _without_nan(one) for name, one in value.items()}
        case _:
            return value
