"""Who may run code now: the processors and the memory are everybody's."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from loci.core.errors import Unavailable

AT_ONCE = 12
"""Runs of one owner; the others wait for their turn."""
MOST = 64
"""Of one owner that run or wait."""


@dataclass(slots=True)
class _Line:
    turns: threading.Semaphore
    length: int = 0


@dataclass(frozen=True, slots=True)
class RunQueue:
    """One line for each owner: who has many runs keeps nobody else waiting."""

    at_once: int = AT_ONCE
    most: int = MOST
    _lines: dict[str, _Line] = field(default_factory=dict[str, _Line])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, owner: str) -> None:
        """Stand in line; `Unavailable` where it is too long. `leave` has to follow."""
        with self._lock:
            line = self._lines.setdefault(owner, _Line(threading.Semaphore(self.at_once)))
            if line.length >= self.most:
                what = f"{self.most} runs of yours are under way or wait, which is the most"
                raise Unavailable(what, "Wait for some of them, then call again", code="SANDBOX_BUSY")
            line.length += 1

    @contextmanager
    def turn(self, owner: str) -> Generator[None]:
        """Wait for the turn, and have it for the block."""
        with self._lines[owner].turns:
            yield

    def leave(self, owner: str) -> None:
        """Go."""
        with self._lock:
            self._lines[owner].length -= 1
            if not self._lines[owner].length:
                del self._lines[owner]
