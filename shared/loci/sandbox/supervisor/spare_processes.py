"""Processes of Deno that wait for a job: to start one takes longer than most runs."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable

from loci.sandbox.supervisor.deno_process import DenoProcess, NotStartedError
from loci.sandbox.supervisor.deno_starter import ProcessShape

READY_SECONDS, CLOSE_SECONDS = 20.0, 2.0
QUIET_SECONDS = 0.02
"""Before another is started, so that it takes no processor time from the run that took the last one."""
IDLE_SECONDS = 900.0


class SpareProcesses:
    """Processes of one shape, started before there is a job. The first call starts them; 15 idle minutes end them."""

    def __init__(self, start: Callable[[ProcessShape], DenoProcess], shape: ProcessShape, size: int) -> None:
        self._start = start
        self._shape = shape
        self._size = size
        self._ready: deque[DenoProcess] = deque()
        self._changed = threading.Condition()
        self._filler: threading.Thread | None = None
        self._closed = False

    def take(self, shape: ProcessShape, *, is_new: bool = False) -> DenoProcess:
        """A process that waits for a job: a spare one, or a new one if none has that shape or `is_new` asks for it."""
        if shape == self._shape and self._size and not is_new:
            while (spare := self._next()) is not None:
                spare.wait(0, ())
                if spare.ended is None and not spare.is_silent:
                    return spare
                spare.close()  # something has killed it
        return self._start(shape).ready(READY_SECONDS)

    def close(self) -> None:
        """End them all, but do not wait long for one that is just being started."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            filler = self._filler
        if filler is not None:
            filler.join(CLOSE_SECONDS)
        self._drop()

    def _next(self) -> DenoProcess | None:
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
