"""The time that messages of code may take of this process: one large message at a time, and a pause after it.

While a message is parsed, no other thread of Python runs. So a sender is slowed who has much to say, and nobody else.
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

_turn = threading.Lock()
_pause_until = 0.0


class ReadingTime:
    """The time that the messages of one run have taken. `meanwhile` is called while one of them waits."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self._meanwhile = meanwhile
        self._taken = 0.0

    @contextmanager
    def reading(self, size: int) -> Generator[None]:
        """Read a message of so many bytes in this block, when its turn comes."""
        if size <= LARGE and self._taken < FREE_SECONDS:
            with self._measured():
                yield
            return
        while not _turn.acquire(timeout=LOOK_SECONDS):
            self._meanwhile()
        try:
            while (left := _pause_until - time.monotonic()) > 0:
                time.sleep(min(left, LOOK_SECONDS))
                self._meanwhile()
            with self._measured():
                yield
        finally:
            self._pause()
            _turn.release()

    @contextmanager
    def _measured(self) -> Generator[None]:
        began = time.thread_time()
        try:
            yield
        finally:
            self._taken += time.thread_time() - began

    def _pause(self) -> None:
        global _pause_until
        _pause_until = max(_pause_until, time.monotonic() + min(PAUSE * self._taken, LONGEST_PAUSE))
        self._taken = 0.0
