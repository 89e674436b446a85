"""The open streams of this process: woken when their owner's log has grown, and ended when the server stops."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from loci.core.errors import Unavailable
from loci.core.identity import Owner

MOST_OPEN: Final = 32
"""Streams of an owner."""
MOST_IN_ALL: Final = 500
TOO_MANY: Final = "TOO_MANY_STREAMS"


class Waker:
    """Wakes one stream that waits."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Wait to be woken, at most so long. A stream that was woken meanwhile does not wait."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)
        self._woken.clear()

    def wake(self) -> None:
        """Wake the stream, from any thread."""
        with suppress(RuntimeError):  # its loop is closed
            self._loop.call_soon_threadsafe(self._woken.set)


class Streams:
    """Knows the streams of each owner."""

    def __init__(self) -> None:
        self.is_over = False
        """True: the server stops."""
        self._turn = threading.Lock()
        self._open: dict[Owner, set[Waker]] = {}

    @contextmanager
    def opened(self, owner: Owner) -> Generator[Waker]:
        """A stream of the owner's, until the end of the block. Raises `Unavailable` if there are too many."""
        waker = Waker()
        with self._turn:
            count, in_all = len(self._open.get(owner, ())), sum(map(len, self._open.values()))
            if count >= MOST_OPEN:
                raise Unavailable(f"{count} streams of yours are open, which is the most", "Close one", code=TOO_MANY)
            if in_all >= MOST_IN_ALL:
                what = f"{in_all} streams of events are open, which is the most"
                raise Unavailable(what, "Ask again later", code=TOO_MANY)
            self._open.setdefault(owner, set()).add(waker)
        try:
            yield waker
        finally:
            with self._turn:
                self._open[owner].discard(waker)
                if not self._open[owner]:
                    del self._open[owner]

    def wake(self, owner: Owner) -> None:
        """Wake the owner's streams: the log has grown."""
        with self._turn:
            wakers = [*self._open.get(owner, ())]
        for one in wakers:
            one.wake()

    def end(self) -> None:
        """Have all streams end."""
        self.is_over = True
        for owner in [*self._open]:
            self.wake(owner)
