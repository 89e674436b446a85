"""Runs in this process, and their queue: everybody shares the processors and the memory."""

import threading
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

from loci.code.ports import GivenUp
from loci.core.errors import Unavailable
from loci.core.json import JsonObject

AT_ONCE = 12
"""Runs of one owner at a time; the others wait."""
MOST = 64
"""Runs of one owner that run or wait."""


class LocalRun:
    """A run on a thread of this process, as the call that started it sees it."""

    def __init__(self, call_is_over: GivenUp) -> None:
        self.future: Future[JsonObject] = Future()
        self._call_is_over = call_is_over
        self._is_given_up = threading.Event()

    def is_given_up(self) -> bool:
        """True if nobody waits for the run any more."""
        return self._is_given_up.is_set() or self._call_is_over()

    def give_up(self) -> None:
        """Stop waiting, now and later: the run will be ended."""
        self._is_given_up.set()


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
