"""Places in which code runs. Owners share them, so that none can take all of them."""

import threading
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from loci.core.errors import Refused

OF_AN_OWNER = 4
SPARED = 2
"""Places that only an owner takes who has none."""


class RunPlaces:
    """So many runs at once, of all owners together. Any thread may call."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()
        self._since: dict[object, float] = {}
        self._changed = threading.Condition()

    @contextmanager
    def place(self, owner: str, seconds: float) -> Generator[int]:
        """Hold a place for the block, beside so many others of the owner. `Refused` if none is free in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_free_for(owner), seconds):
                longest = time.monotonic() - min(self._since.values(), default=time.monotonic())
                raise Refused(
                    f"{self._taken[owner]} executors of yours run code, and {self._taken.total()} in all,"
                    f" one of them for {longest:.0f} s",
                    "Call again when one of them is done",
                    code="EXECUTOR_BUSY",
                )
            others = self._taken[owner]
            self._taken[owner] += 1
            self._since[held := object()] = time.monotonic()
        try:
            yield others
        finally:
            with self._changed:
                self._taken[owner] -= 1
                del self._since[held]
                self._taken += Counter()  # forgets owners who have none
                self._changed.notify_all()

    def _is_free_for(self, owner: str) -> bool:
        free, own = self._most - self._taken.total(), self._taken[owner]
        return free > 0 if own == 0 else own < OF_AN_OWNER and free > SPARED
