"""Values that came from elsewhere: only what every store can keep, and every page can show."""

import json
import math
from typing import Final, cast

from loci.core.json_shape import Fault, shape_fault

DEEPEST: Final = 200
LARGEST: Final = 10**300
MOST_VALUES: Final = 100_000
"""In the JSON of one item. No request brings more, and what Loci writes has far fewer."""


def parsed(raw: bytes, most: int = MOST_VALUES) -> object:
    """The value of this JSON. Raises `ValueError` if it is none, or if it would take much memory."""
    if (fault := fault_of(raw, most)) is not None:
        raise ValueError(fault)
    # Not the bytes: `json` takes other encodings, too, in which they would have to be counted in another way.
    return json.loads(raw.decode("utf-8", "surrogatepass"))


def fault_of(raw: bytes, most: int) -> Fault | None:
    """Tell if this JSON has too many values, or too many levels."""
    return shape_fault(raw, most, DEEPEST)


def check_plain(value: object) -> None:
    """Raise `ValueError` for a number that is none, or endless, for half a character, and for what is too deep."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inside for one in level for inside in _insides(one)]
        if not level:
            return
    raise ValueError("too deep")


def _insides(one: object) -> list[object]:
    match one:
        case str():
            one.encode()  # half a character raises a `ValueError`
        case float() if not math.isfinite(one):
            raise ValueError(one)
        case int() if abs(one) > LARGEST:
            raise ValueError("too large")
        case dict():
            fields = cast("dict[object, object]", one)
            return [*fields.keys(), *fields.values()]
        case list():
            return cast("list[object]", one)
        case _:
            pass
    return []
