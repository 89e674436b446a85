"""Processes that were started before there is work for them. Each is used once."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable

from loci.sandbox.supervisor.deno_process import Child, NotStartedError
from loci.sandbox.supervisor.deno_starter import Shape

READY_SECONDS = 20.0
QUIET_SECONDS = 0.02
"""Before another is started, so that it does not take processor time from the run that took the last one."""
IDLE_SECONDS = 900.0


class Spares:
    """So many of one shape. The first call starts them, and a quarter of an hour without calls ends them."""

    def __init__(self, start: Callable[[Shape], Child], shape: Shape, size: int) -> None:
        self._start = start
        self._shape = shape
        self._size = size
        self._ready: deque[Child] = deque()
        self._changed = threading.Condition()
        self._filler: threading.Thread | None = None
        self._closed = False

    def take(self, shape: Shape) -> Child:
        """A process that waits for a job: a spare, or where there is none of that shape a new one."""
        if shape == self._shape and self._size:
            while (spare := self._next()) is not None:
                spare.wait(0, ())
                if spare.ended is None and not spare.is_silent:
                    return spare
                spare.close()  # something has killed it
        return self._start(shape).ready(READY_SECONDS)

    def count(self) -> int:
        """How many are ready."""
        with self._changed:
            return len(self._ready)

    def close(self) -> None:
        """End them all."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            filler = self._filler
        if filler is not None:
            filler.join()
        self._drop()

    def _next(self) -> Child | None:
        with self._changed:
            found = self._ready.popleft() if self._ready else None
            if self._filler is None and not self._closed:
                self._filler = threading.Thread(target=self._fill, name="spares", daemon=True)
                self._filler.start()
            self._changed.notify_all()
            return found

    def _fill(self) -> None:
        while True:
            with self._changed:
                if not self._changed.wait_for(self._is_wanted, IDLE_SECONDS) or self._closed:
                    self._filler = None
                    break
            threading.Event().wait(QUIET_SECONDS)
            try:
                child = self._start(self._shape).ready(READY_SECONDS)
            except NotStartedError:  # the next call says why
                with self._changed:
                    self._filler = None
                return
            with self._changed:
                self._ready.append(child)
        self._drop()

    def _is_wanted(self) -> bool:
        return self._closed or len(self._ready) < self._size

    def _drop(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._ready.popleft().close()
