"""Calls of native code that lets other threads run meanwhile: the process must not end under them.

A daemon thread that comes back from such code after Python has ended aborts the process.
"""

import atexit
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from loci.core.errors import Unavailable

LONGEST_END: Final = 30.0
"""Seconds that a process waits at its end for such calls."""


class NativeCalls:
    """Those that run now."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._number = 0
        self._has_ended = False

    @contextmanager
    def one(self) -> Generator[None]:
        """Make a call, unless the process is ending."""
        with self._turn:
            if self._has_ended:
                raise Unavailable("Loci is ending", "Start it again, then try again")
            self._number += 1
        try:
            yield
        finally:
            with self._turn:
                self._number -= 1
                self._turn.notify_all()

    def end(self) -> None:
        """Let no call begin any more, and wait for those that run."""
        with self._turn:
            self._has_ended = True
            self._turn.wait_for(lambda: self._number == 0, LONGEST_END)


NATIVE_CALLS = NativeCalls()
atexit.register(NATIVE_CALLS.end)
