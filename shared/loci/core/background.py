"""Threads: work that no call waits for, which a thread does in order, and fair queues of threads for one place."""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager, suppress
from typing import Final

from loci.core.errors import LociError

MOST_WAITING: Final = 10_000
IDLE_SECONDS: Final = 1.0


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class BackgroundQueue:
    """A queue and its thread. An expected error of some work is dropped, and a bug is reported; the next goes on.

    If the process ends without `finish`, the last of it may be lost.
    """

    def __init__(self, pause: float = 0.0, most: int = MOST_WAITING) -> None:
        """`pause`: seconds before work begins, so that the call that brings it is answered first."""
        self._pause = pause
        self._most = most
        self._changed = threading.Condition()
        self._waiting: dict[Hashable, tuple[float, Callable[[], object]]] = {}
        """In order; each with the time before which it does not begin, unless somebody waits for it."""
        self._has_thread = False
        self._is_busy = False
        self._awaited = 0

    def do(self, work: Callable[[], object], key: Hashable = None) -> bool:
        """Do the work soon; False if far too much is waiting. What waits under the same key is the same work."""
        with self._changed:
            key = object() if key is None else key
            if key in self._waiting:
                return True
            if len(self._waiting) >= self._most:
                return False
            self._waiting[key] = time.monotonic() + self._pause, work
            if len(self._waiting) == 1:  # else the thread waits for an earlier one, or works
                self._changed.notify_all()
            if not self._has_thread:
                self._has_thread = True
                threading.Thread(target=self._go_on, name="background", daemon=True).start()
            return True

    def finish(self, seconds: float | None = None) -> bool:
        """Wait until all is done; False if the time is over before."""
        with self._changed:
            self._awaited += 1
            self._changed.notify_all()
            is_done = self._changed.wait_for(lambda: not self._waiting and not self._is_busy, seconds)
            self._awaited -= 1
            return is_done

    def _go_on(self) -> None:
        while work := self._next():
            try:
                with suppress(LociError):
                    work()
            except Exception:  # noqa: BLE001 (it is reported as that of any thread)
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            del work  # keep nothing of it alive while waiting

    def _next(self) -> Callable[[], object] | None:
        """Wait for work that may begin. Returns None when no work has come for a while."""
        with self._changed:
            self._is_busy = False
            self._changed.notify_all()
            idle_until = time.monotonic() + IDLE_SECONDS
            while True:
                first = next(iter(self._waiting), None)
                begin = idle_until if first is None else self._waiting[first][0]
                left = begin - time.monotonic()
                if first is not None and (left <= 0 or self._awaited):
                    self._is_busy = True
                    return self._waiting.pop(first)[1]
                if left <= 0:
                    self._has_thread = False
                    return None
                self._changed.wait(left)


class FairQueues:
    """A queue for each place. A place that nobody waits for takes no memory."""

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
