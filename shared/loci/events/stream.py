"""One stream of server-sent events. It reads the log as fast as its reader takes what it sends, and keeps nothing."""

import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.events.api import Events, gap_event, shown
from loci.events.event import MISSED, START, Event, Place, Read
from loci.events.streams import Waker
from loci.mcp.threads import FOLLOWED, on_thread_of

RETRY_MS: Final = 1000
"""After which a client asks again."""
LOOK_SECONDS: Final = 1.0
"""Between two looks if another process has told something."""
BEAT_SECONDS: Final = 15.0
"""Between two signs of life, and two looks if the credential is still good."""
BRIEF_SECONDS: Final = 5.0
"""Of an answer that must end."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The wishes of a reader."""

    owner: Owner
    kinds: frozenset[str]
    after: Place | None
    last: int
    is_brief: bool
    """True: end as soon as there was an event, or after some seconds. The next request goes on."""


class Stream:
    """Begin it, then send its texts."""

    def __init__(self, events: Events, asked: Asked, waker: Waker, is_allowed: Callable[[], Awaitable[bool]]) -> None:
        self._events = events
        self._asked = asked
        self._waker = waker
        self._is_allowed = is_allowed
        self._place = START
        self._is_lost = False

    async def begin(self) -> None:
        """Look where it begins. Raises `LociError` if the store cannot say so."""
        asked, kinds = self._asked, self._asked.kinds - {MISSED}
        self._place, self._is_lost = await on_thread_of(
            FOLLOWED, self._events.begin, asked.owner, asked.after, asked.last, kinds
        )

    async def texts(self) -> AsyncGenerator[str]:
        """The parts of the answer, each of whole events."""
        yield self._first()
        until = time.monotonic() + BRIEF_SECONDS if self._asked.is_brief else None
        beat = time.monotonic() + BEAT_SECONDS
        was_woken, told_place = False, self._place
        while not (self._events.streams.is_over or self._waker.is_over):
            # Before anything is read: a slow reader may have taken long for what came before.
            if time.monotonic() >= beat:
                if not await self._is_allowed():
                    break
                beat = time.monotonic() + BEAT_SECONDS
                yield ":\n\n" if told_place == self._place else f"id: {self._place.id}\n\n"
                told_place = self._place
                continue
            read = await self._read(was_woken=was_woken)
            events = shown(read, self._asked.kinds, time.time())
            self._place = read.place
            if events:
                yield "".join(as_text(place, event) for place, event in events)
                told_place = events[-1][0] or told_place
            now = time.monotonic()
            if until is not None and (events or now >= until):
                break
            was_woken = read.is_more or await self._wait(min(beat, until or beat) - now)
        if told_place != self._place:  # those behind the last one that was told are of other kinds
            yield f"id: {self._place.id}\n\n"

    def _first(self) -> str:
        """When to come again, and how far the reader is: it may be all that a short answer says."""
        if self._is_lost:
            return f"retry: {RETRY_MS}\n\n{as_text(None, gap_event(time.time()))}"
        # Before older events nobody has an id yet: without one, the reader would begin with them again.
        is_new = self._asked.after is None and self._asked.last > 0
        return f"retry: {RETRY_MS}\n{'' if is_new else f'id: {self._place.id}{chr(10)}'}\n"

    async def _read(self, *, was_woken: bool) -> Read:
        owner = self._asked.owner
        if was_woken and (recent := self._events.log.recent(owner, self._place)):
            return recent
        try:
            return await on_thread_of(FOLLOWED, self._events.log.after, owner, self._place)
        except LociError:  # the store fails just now: the next look may succeed
            return Read((), self._place)

    async def _wait(self, seconds: float) -> bool:
        return await self._waker.wait(max(0.0, min(seconds, LOOK_SECONDS)))


def as_text(place: Place | None, event: Event) -> str:
    """The event on the wire. JSON in ASCII has no line break, so nothing in it can begin another field."""
    id = "" if place is None else f"id: {place.id}\n"
    return f"{id}event: {event.kind}\ndata: {json.dumps(event.as_json(), separators=(',', ':'))}\n\n"
