"""The time that messages of code may take of this process: one large message at a time, and a pause after it.

While a message is parsed, no other thread of Python runs. So a sender is slowed who has much to say, and nobody else:
owners take turns, however many messages one of them has, and a wait for a turn is not held against a run.
"""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

LARGE = 1 << 18
FREE_SECONDS = 0.02
"""Small messages of a run that took longer wait for a turn, as a large one does."""
PAUSE = 2
"""The pause, of the time that was taken: messages of all runs together have a third of a processor."""
LONGEST_PAUSE = 0.5
LOOK_SECONDS = 0.02
MOST_WAITED = 5.0
"""Seconds that a run has more because it waited for turns."""
REMEMBERED_SECONDS = 60.0


class _Turns:
    """One at a time. The next one is of the owner whose last one is longest ago."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._waiting: list[ReadingTime] = []
        self._is_taken = False
        self._last: dict[object, float] = {}
        self._pause_until = 0.0

    def ask(self, one: "ReadingTime") -> None:
        with self._changing:
            self._waiting.append(one)

    def leave(self, one: "ReadingTime") -> None:
        with self._changing:
            self._waiting.remove(one)

    def is_turn_of(self, one: "ReadingTime") -> bool:
        """True if it has the turn now."""
        with self._changing:
            if self._is_taken or time.monotonic() < self._pause_until:
                return False
            self._is_taken = one is min(self._waiting, key=lambda other: self._last.get(other.owner, 0.0))
            return self._is_taken

    def end(self, one: "ReadingTime", pause: float) -> None:
        with self._changing:
            now = time.monotonic()
            self._is_taken, self._pause_until = False, max(self._pause_until, now + pause)
            self._last = {owner: at for owner, at in self._last.items() if now - at < REMEMBERED_SECONDS}
            self._last[one.owner] = now


_turns = _Turns()


class ReadingTime:
    """The time that the messages of one run have taken. A run without an owner takes turns for itself."""

    def __init__(self, owner: object = None) -> None:
        self.owner = object() if owner is None else owner
        self.waited = 0.0
        """Seconds that messages have waited for their turns, up to a bound: the run's time goes on so much longer."""
        self._taken = 0.0

    @contextmanager
    def reading(self, size: int, meanwhile: Callable[[], None] = lambda: None) -> Generator[None]:
        """Read a message of so many bytes in this block, when its turn comes. Until then `meanwhile` is called."""
        if size <= LARGE and self._taken < FREE_SECONDS:
            with self._measured():
                yield
            return
        _turns.ask(self)
        try:
            self._wait(meanwhile)
        finally:
            _turns.leave(self)
        try:
            with self._measured():
                yield
        finally:
            _turns.end(self, min(PAUSE * self._taken, LONGEST_PAUSE))
            self._taken = 0.0

    def _wait(self, meanwhile: Callable[[], None]) -> None:
        began, before = time.monotonic(), self.waited
        while not _turns.is_turn_of(self):
            time.sleep(LOOK_SECONDS)
            self.waited = min(before + time.monotonic() - began, MOST_WAITED)
            meanwhile()

    @contextmanager
    def _measured(self) -> Generator[None]:
        began = time.thread_time()
        try:
            yield
        finally:
            self._taken += time.thread_time() - began
