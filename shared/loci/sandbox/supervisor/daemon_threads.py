"""Threads that do not keep the process from ending: what they wait for may never come."""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
MOST_IDLE = 32
"""Threads that wait for work, as many as a workflow has tasks at once. A new one also opens the store anew."""


class DaemonThreads:
    """A pool with as many threads as there is work at once."""

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._turn = threading.Lock()
        self._idle = 0

    def start(self, work: Callable[[], None]) -> None:
        """Start the work at once."""
        with self._turn:
            is_waiting = self._idle > 0
            self._idle -= is_waiting
        if not is_waiting:
            threading.Thread(target=self._serve, name="daemon", daemon=True).start()
        self._work.put(work)  # no argument of the thread, which would hold it as long as the thread lives

    def _serve(self) -> None:
        while True:
            work = self._work.get()
            try:
                work()
            except BaseException:  # noqa: BLE001 (it is reported as that of any thread)
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            del work  # keep nothing of it alive while waiting
            with self._turn:
                if self._idle >= MOST_IDLE:
                    return
                self._idle += 1


DAEMON_THREADS = DaemonThreads()


def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
    """Do the work in another thread. The future has its result."""
    future: Future[T] = Future()

    def go() -> None:
        try:
            result = work(*args, **kwargs)
        except BaseException as error:
            future.set_exception(error)
            raise
        future.set_result(result)

    DAEMON_THREADS.start(go)
    return future
