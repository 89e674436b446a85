"""The first rows of a list: as many as a page, or an answer to it, has room for. The page asks for the others."""

from collections.abc import Iterable
from typing import Final

from loci.core.json import Json, JsonObject
from loci.web.page import embedded

FIRST: Final = 50
"""Rows at most."""
ROOM: Final = 14_000
"""Bytes. With its program and its style a page stays below 60 KB."""

LARGEST_LIST: Final = 2_000_000
"""Bytes of rows in an answer. One of a Lambda function may have 6 MB, and each quotation mark counts twice in it."""


def first_rows(rows: Iterable[JsonObject], most: int = FIRST, room: int = ROOM) -> list[Json]:
    """Return the first rows. None of them is there if even the first is too large."""
    shown: list[Json] = []
    for one in rows:
        room -= len(embedded(one).encode()) + 1
        if room < 0 or len(shown) == most:
            break
        shown.append(one)
    return shown
