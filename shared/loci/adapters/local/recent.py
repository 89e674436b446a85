"""Rows that were read lately, by number: a number never means another row."""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

Row = TypeVar("Row")


class Recent(Generic[Row]):
    """As many rows as were asked for last, and those asked for before them."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._rows: dict[int, Row] = {}
        self._older: dict[int, Row] = {}
        self._lock = threading.Lock()

    def get(self, numbers: Iterable[int], read: Callable[[Sequence[int]], dict[int, Row]]) -> dict[int, Row]:
        """The rows of those numbers; `read` reads those that are not here, and leaves out what there is not."""
        wanted = list(numbers)
        with self._lock:
            found = {one: row for one in wanted if (row := self._rows.get(one) or self._older.get(one)) is not None}
        missing = [one for one in wanted if one not in found]
        if missing:
            found |= read(missing)
        with self._lock:
            if len(self._rows) + len(found) > self._half:
                self._older, self._rows = self._rows, {}
            self._rows |= found
        return found
