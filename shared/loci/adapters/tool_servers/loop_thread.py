"""The thread in which all connections to tool servers live: the official client is asynchronous, Loci is not."""

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import nullcontext, suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from loci.core.cancellation import Cancellation

T = TypeVar("T")
Notes = SimpleQueue[Callable[[], None] | None]
"""Calls that the loop wants made in the thread that waits."""
JOIN_SECONDS = 5.0


class LoopThread:
    """An event loop in a thread of its own, started when first needed. It does not keep the process from ending."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._is_over = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        return self._loop is not None

    def run(
        self,
        work: Coroutine[Any, Any, T],
        seconds: float,
        notes: Notes | None = None,
        cancelled: Cancellation | None = None,
    ) -> T:
        """Do the work in the loop, and wait for it. Raises `TimeoutError` if it takes longer, or is given up.

        It is then cancelled. Once the thread has ended for good it does not begin.
        """
        until = time.monotonic() + seconds
        with self._turn:
            if self._is_over:
                work.close()
                raise TimeoutError
            future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            with nullcontext() if cancelled is None else cancelled.telling(future.cancel):
                if notes is not None:
                    future.add_done_callback(lambda _: notes.put(None))
                    self._read(notes, until)
                return future.result(max(0.0, until - time.monotonic()))
        except concurrent.futures.CancelledError:
            raise TimeoutError from None
        finally:
            future.cancel()  # does nothing to what is done

    def stop(self, *, for_good: bool = False) -> None:
        """End the thread. What still runs in it is cancelled."""
        with self._turn:
            self._is_over = self._is_over or for_good
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(JOIN_SECONDS)

    def _read(self, notes: Notes, until: float) -> None:
        """Do what the loop wants done, such as passing on progress, until it says that it is ready."""
        with suppress(Empty):
            while (left := until - time.monotonic()) > 0 and (note := notes.get(timeout=left)) is not None:
                note()

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_serve, args=(self._loop,), name="tool servers", daemon=True)
            self._thread.start()
        return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:  # cancels at its end what still runs
        runner.get_loop().run_forever()
        # A task that is cancelled before it begins drops what it was to wait for, and Python complains.
        loop.run_until_complete(asyncio.sleep(0))
