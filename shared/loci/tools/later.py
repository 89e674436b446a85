"""A thread for what no call waits for. If the process ends, the last of it may be lost."""

import queue
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import suppress

from loci.core.errors import LociError
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS

LONGEST_QUEUE = 10_000
IDLE_SECONDS = 1.0
GATHER_SECONDS = 0.25
ANSWER_SECONDS = 0.03
"""Whoever brings work is answered meanwhile: else both would take turns on one processor."""


class Later:
    """Does one piece of work after the other. What fails is left: it only helps to sort and to look up."""

    def __init__(self) -> None:
        self._work: queue.Queue[tuple[float, Callable[[], None]]] = queue.Queue(LONGEST_QUEUE)
        """Each with the time before which it does not begin, unless somebody waits for it."""
        self._turn = threading.Lock()
        self._is_awaited = threading.Event()
        self._is_working = False
        self._due: dict[Hashable, tuple[float, Callable[[], None]]] = {}

    def do(self, work: Callable[[], None]) -> None:
        """Do the work soon, unless far too much is waiting."""
        with suppress(queue.Full):
            self._work.put_nowait((time.monotonic() + ANSWER_SECONDS, work))
        self._start()

    def do_once(self, key: Hashable, work: Callable[[], None]) -> None:
        """Do the work within a second. What is asked for under this key until then is the same work."""
        with self._turn:
            if key in self._due:
                return
            self._due[key] = time.monotonic() + GATHER_SECONDS, work
        self._start()

    def finish(self, seconds: float | None = None) -> None:
        """Wait until all is done, or the time is over."""
        self._start_due(early=True)
        self._is_awaited.set()
        with self._work.all_tasks_done:
            self._work.all_tasks_done.wait_for(lambda: not self._work.unfinished_tasks, seconds)
        self._is_awaited.clear()

    def _start(self) -> None:
        with self._turn:
            if self._is_working:
                return
            self._is_working = True
        DAEMON_THREADS.start(self._go_on)

    def _start_due(self, *, early: bool = False) -> None:
        with self._turn:
            now = time.monotonic()
            ready = [key for key, (at, _) in self._due.items() if early or at <= now]
            works = [self._due.pop(key)[1] for key in ready]
        for work in works:
            self.do(work)

    def _go_on(self) -> None:
        while True:
            self._start_due()
            try:
                begin, work = self._work.get(timeout=GATHER_SECONDS if self._due else IDLE_SECONDS)
            except queue.Empty:
                with self._turn:
                    if self._work.empty() and not self._due:
                        self._is_working = False
                        return
                continue
            self._is_awaited.wait(max(0.0, begin - time.monotonic()))
            is_bug = True
            try:
                with suppress(LociError):
                    work()
                is_bug = False
            finally:
                if is_bug:  # it ends this thread; what comes next gets another
                    with self._turn:
                        self._is_working = False
                self._work.task_done()
