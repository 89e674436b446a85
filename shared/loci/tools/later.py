"""A thread for what no call waits for. If the process ends, the last of it may be lost."""

import queue
import threading
from collections.abc import Callable
from contextlib import suppress

from loci.core.errors import LociError
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS

LONGEST_QUEUE = 10_000
IDLE_SECONDS = 1.0


class Later:
    """Does one piece of work after the other. What fails is left: it only helps to sort and to look up."""

    def __init__(self) -> None:
        self._work: queue.Queue[Callable[[], None]] = queue.Queue(LONGEST_QUEUE)
        self._turn = threading.Lock()
        self._is_working = False

    def do(self, work: Callable[[], None]) -> None:
        """Do the work soon, unless far too much is waiting."""
        with suppress(queue.Full):
            self._work.put_nowait(work)
        with self._turn:
            if self._is_working:
                return
            self._is_working = True
        DAEMON_THREADS.start(self._go_on)

    def finish(self, seconds: float | None = None) -> None:
        """Wait until all is done, or the time is over."""
        with self._work.all_tasks_done:
            self._work.all_tasks_done.wait_for(lambda: not self._work.unfinished_tasks, seconds)

    def _go_on(self) -> None:
        while True:
            try:
                work = self._work.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._turn:
                    if self._work.empty():
                        self._is_working = False
                        return
                continue
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
