"""Threads that keep no process from ending: what they wait for may never come."""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
MOST_IDLE = 8
"""Threads that wait for work: to start one takes four times as long as to wake one."""


class Crew:
    """As many threads as there is work at once."""

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._turn = threading.Lock()
        self._idle = 0

    def do(self, work: Callable[[], None]) -> None:
        """Have the work done, at once."""
        with self._turn:
            is_known = self._idle > 0
            self._idle -= is_known
        if is_known:
            self._work.put(work)
        else:
            threading.Thread(target=self._serve, args=(work,), name="crew", daemon=True).start()

    def _serve(self, work: Callable[[], None]) -> None:
        while True:
            try:
                work()
            except BaseException:  # noqa: BLE001 (it is told as that of any thread)
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            del work  # nothing of it is kept while there is no other
            with self._turn:
                if self._idle >= MOST_IDLE:
                    return
                self._idle += 1
            work = self._work.get()


CREW = Crew()


def beside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
    """The work's result, once another thread has done it."""
    future: Future[T] = Future()

    def go() -> None:
        try:
            result = work(*args, **kwargs)
        except BaseException as error:
            future.set_exception(error)
            raise
        future.set_result(result)

    CREW.do(go)
    return future
