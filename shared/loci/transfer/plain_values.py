"""Values that came from elsewhere: only what every store can keep, and every page can show."""

import math
from typing import Final, cast

DEEPEST: Final = 200
LARGEST: Final = 10**300


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
