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
        self.is_over = False
        """True: the stream ends, because somebody else needs its place."""
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()

    async def wait(self, seconds: float) -> bool:
        """Wait to be woken; False if the time is over. Whoever was woken meanwhile does not wait."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)
        was_woken = self._woken.is_set()
        self._woken.clear()
        return was_woken

    def wake(self) -> None:
        """Any thread may call it."""
        with suppress(RuntimeError):  # its loop is closed
            self._loop.call_soon_threadsafe(self._woken.set)


class Streams:
    """Knows them by their owners."""

    def __init__(self) -> None:
        self.is_over = False
        """True: the server stops."""
        self._turn = threading.Lock()
        self._wakers: dict[Owner, set[Waker]] = {}

    @contextmanager
    def opened(self, owner: Owner) -> Generator[Waker]:
        """A stream of the owner's, until the end of the block. Raises `Unavailable` if there are too many.

        When there is no place left for anybody, who has the most streams gives one up for who has fewer.
        """
        waker = Waker()
        with self._turn:
            count = len(self._wakers.get(owner, ()))
            if count >= MOST_OPEN:
                raise Unavailable(f"{count} streams of yours are open, which is the most", "Close one", code=TOO_MANY)
            if (all_open := sum(map(len, self._wakers.values()))) >= MOST_IN_ALL and not self._is_freed(count + 1):
                what = f"{all_open} streams of events are open, which is the most"
                raise Unavailable(what, "Ask again later", code=TOO_MANY)
            self._wakers.setdefault(owner, set()).add(waker)
        try:
            yield waker
        finally:
            with self._turn:
                self._leave(owner, waker)

    def _is_freed(self, most: int) -> bool:
        """True if somebody had more streams than so many, and gives one up."""
        owner, own = max(self._wakers.items(), key=lambda one: len(one[1]))
        if len(own) <= most:
            return False
        given_up = next(iter(own))
        given_up.is_over = True
        given_up.wake()
        self._leave(owner, given_up)
        return True

    def _leave(self, owner: Owner, waker: Waker) -> None:
        own = self._wakers.get(owner, set())
        own.discard(waker)
        if not own:
            self._wakers.pop(owner, None)

    def wake(self, owner: Owner) -> None:
        """The owner's log has grown."""
        with self._turn:
            wakers = [*self._wakers.get(owner, ())]
        for one in wakers:
            one.wake()

    def end(self) -> None:
        """Have all of them end."""
        self.is_over = True
        with self._turn:
            wakers = [one for own in self._wakers.values() for one in own]
        for one in wakers:
            one.wake()
