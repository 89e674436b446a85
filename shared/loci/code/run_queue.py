"""The queue for running code: everybody shares the processors and the memory."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from loci.core.errors import Unavailable

AT_ONCE = 12
"""Runs of one owner at a time; the others wait."""
MOST = 64
"""Runs of one owner that run or wait."""


@dataclass(slots=True)
class _OwnerQueue:
    turns: threading.Semaphore
    length: int = 0


@dataclass(frozen=True, slots=True)
class RunQueue:
    """A queue for each owner, so that an owner with many runs keeps nobody else waiting."""

    at_once: int = AT_ONCE
    most: int = MOST
    _queues: dict[str, _OwnerQueue] = field(default_factory=dict[str, _OwnerQueue])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, owner: str) -> None:
        """Join the owner's queue; call `leave` afterwards. Raises `Unavailable` if the queue is too long."""
        with self._lock:
            queue = self._queues.setdefault(owner, _OwnerQueue(threading.Semaphore(self.at_once)))
            if queue.length >= self.most:
                what = f"{self.most} runs of yours are under way or wait, which is the most"
                raise Unavailable(what, "Wait for some of them, then call again", code="SANDBOX_BUSY")
            queue.length += 1

    @contextmanager
    def turn(self, owner: str) -> Generator[None]:
        """Wait for a turn, and hold it for the block."""
        with self._queues[owner].turns:
            yield

    def leave(self, owner: str) -> None:
        """Leave the owner's queue."""
        with self._lock:
            self._queues[owner].length -= 1
            if not self._queues[owner].length:
                del self._queues[owner]
