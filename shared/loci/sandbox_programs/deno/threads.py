"""Threads that keep no process from ending: what they wait for may never come."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def beside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
    """The work's result, once a thread of its own has done it."""
    future: Future[T] = Future()

    def go() -> None:
        try:
            result = work(*args, **kwargs)
        except BaseException as error:
            future.set_exception(error)
            raise
        future.set_result(result)

    threading.Thread(target=go, name="tool", daemon=True).start()
    return future
