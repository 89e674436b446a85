"""Runs in this process, and their queue: everybody shares the processors and the memory."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

from loci.code.ports import Cancelled
from loci.core.errors import Unavailable
from loci.core.json import JsonObject
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS

AT_ONCE = 8
"""Runs of one owner at a time; the others wait."""
MOST = 64
"""Runs of one owner that run or wait."""


class LocalRun:
    """A run on a thread of this process, as the call that started it sees it."""

    def __init__(self, call_is_over: Cancelled) -> None:
        self.future: Future[JsonObject] = Future()
        self._call_is_over = call_is_over
        self._is_given_up = threading.Event()

    def was_cancelled(self) -> bool:
        """True if nobody waits for the run any more."""
        return self._is_given_up.is_set() or self._call_is_over()

    def cancel(self) -> None:
        """Stop waiting, now and later: the run will be ended."""
        self._is_given_up.set()


@dataclass(slots=True)
class _OwnerQueue:
    running: int = 0
    waiting: deque[Callable[[], None]] = field(default_factory=deque[Callable[[], None]])


@dataclass(frozen=True, slots=True)
class RunQueue:
    """A queue for each owner, so that an owner with many runs keeps nobody else waiting. Waiting takes no thread."""

    at_once: int = AT_ONCE
    most: int = MOST
    _queues: dict[str, _OwnerQueue] = field(default_factory=dict[str, _OwnerQueue])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, owner: str, work: Callable[[], None]) -> None:
        """Do the work on a thread of its own when its turn comes. Raises `Unavailable` if the queue is too long."""
        with self._lock:
            queue = self._queues.setdefault(owner, _OwnerQueue())
            if queue.running + len(queue.waiting) >= self.most:
                what = f"{self.most} runs of yours are under way or wait, which is the most"
                raise Unavailable(what, "Wait for some of them, then call again", code="SANDBOX_BUSY")
            if queue.running >= self.at_once:
                queue.waiting.append(work)
                return
            try:
                DAEMON_THREADS.start(partial(self._do, owner, work))
            except RuntimeError as error:
                raise Unavailable(f"No run can begin now ({error})", "Try again", code="SANDBOX_BUSY") from error
            queue.running += 1  # the thread asks for the next run behind the same lock

    def _do(self, owner: str, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            if following := self._next(owner):
                DAEMON_THREADS.start(partial(self._do, owner, following))

    def _next(self, owner: str) -> Callable[[], None] | None:
        with self._lock:
            queue = self._queues[owner]
            if queue.waiting:
                return queue.waiting.popleft()
            queue.running -= 1
            if not queue.running:
                del self._queues[owner]
            return None
