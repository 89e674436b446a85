"""JSON values, and points in time as clients read them."""

import json
import re
from datetime import UTC, datetime
from typing import Final

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
JsonObject = dict[str, Json]
_HALF: Final = re.compile(r"[\ud800-\udfff]")
"""Half of a surrogate pair: JSON can write it, UTF-8 cannot."""
_ESCAPED: Final = re.compile(r"\\u[dD]")


def read_whole(text: str) -> Json:
    """Read JSON. Half a character, which a text that was cut may end with, becomes the sign for an unknown one.

    Raises `ValueError` if it is no JSON, or too deep.
    """
    try:
        value = json.loads(text)
        if _ESCAPED.search(text):
            value = json.loads(_HALF.sub("\ufffd", json.dumps(value, ensure_ascii=False)))
    except RecursionError:
        raise ValueError("too deep") from None
    return value


def string(value: Json) -> str:
    """Return the value if it is a string, else raise `TypeError`."""
    if not isinstance(value, str):
        raise TypeError(f"this is no string but {type(value).__name__}")
    return value


LAST_SECOND: Final = 253_402_300_799.0
"""The end of the year 9999: no calendar goes further."""


def iso(seconds: float) -> str:
    """Return the time in UTC, to the second, such as 2026-01-17T12:34:56Z."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
