"""When a server that fails may be tried again."""

import time
from collections.abc import Callable

PAUSES = (0.0, 0.0, 1.0, 2.0, 15.0, 60.0, 300.0)
"""The seconds after none, one, two … failures in a row."""


class Circuit:
    """Counts failures in a row. The more there are the longer is the pause before the next try."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.failures = 0
        self._next = 0.0

    def pause(self) -> float:
        """The seconds until the next try; none if it may be now."""
        return max(0.0, self._next - self._now())

    def failed(self) -> None:
        self.failures += 1
        self._next = self._now() + PAUSES[min(self.failures, len(PAUSES) - 1)]

    def answered(self) -> None:
        self.failures, self._next = 0, 0.0
