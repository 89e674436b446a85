"""Work that no request waits for: done one by one, in order, on a thread of its own."""

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from loci.core.errors import LociError
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS

T = TypeVar("T")


class Afterwards(Generic[T]):
    """A queue with one thread, which ends when there is nothing to do. If the process ends, the last may be lost."""

    def __init__(self, do: Callable[[T], None], longest: int) -> None:
        self._do = do
        self._waiting: queue.Queue[T] = queue.Queue(longest)
        self._turn = threading.Lock()
        self._is_working = False

    def add(self, one: T) -> None:
        """Have it done. If too many wait, it is dropped."""
        with suppress(queue.Full):
            self._waiting.put_nowait(one)
        with self._turn:
            if self._is_working:
                return
            self._is_working = True
        DAEMON_THREADS.start(self._work)

    def finish(self, seconds: float | None = None) -> None:
        """Wait until everything so far is done, or for so many seconds."""
        with self._waiting.all_tasks_done:
            self._waiting.all_tasks_done.wait_for(lambda: not self._waiting.unfinished_tasks, seconds)

    def _work(self) -> None:
        try:
            while self._did_one():
                pass
        finally:
            with self._turn:
                self._is_working = is_needed = not self._waiting.empty()
            if is_needed:
                DAEMON_THREADS.start(self._work)

    def _did_one(self) -> bool:
        """False: nothing came for a while."""
        try:
            one = self._waiting.get(timeout=1.0)
        except queue.Empty:
            return False
        try:
            with suppress(LociError):  # what is noted here only helps to find and sort
                self._do(one)
        finally:
            self._waiting.task_done()
        return True
