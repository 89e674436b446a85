"""Queues of threads: each place is given to one thread at a time, in the order in which they asked."""

import threading
from collections import deque
from collections.abc import Generator, Hashable
from contextlib import contextmanager


class FairQueues:
    """One queue for each place. A place that nobody waits for takes no memory."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, deque[threading.Event]] = {}
        self._lock = threading.Lock()  # only ever held for a few operations

    @contextmanager
    def turn(self, place: Hashable, seconds: float | None = None) -> Generator[bool]:
        """Wait at most that many seconds (None: as long as it takes) for the place; True if it was given."""
        mine = threading.Event()
        with self._lock:
            queue = self._waiting.setdefault(place, deque())
            queue.append(mine)
            if queue[0] is mine:
                mine.set()
        try:
            yield mine.wait(seconds) or self._is_first(place, mine)
        finally:
            self._leave(place, mine)

    def _is_first(self, place: Hashable, mine: threading.Event) -> bool:
        with self._lock:
            return self._waiting[place][0] is mine

    def _leave(self, place: Hashable, mine: threading.Event) -> None:
        with self._lock:
            queue = self._waiting[place]
            was_first = queue[0] is mine
            queue.remove(mine)
            if not queue:
                del self._waiting[place]
            elif was_first:
                queue[0].set()
