"""One stream of server-sent events. It reads the log as fast as its reader takes what it sends, and keeps nothing."""

import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from math import inf
from typing import Final

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.events.api import Events, shown
from loci.events.event import START, Event, Place, Read
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
        self._place = asked.after or START

    async def begin(self) -> None:
        """Look where it begins. Raises `LociError` if the store cannot say so."""
        asked = self._asked
        if asked.after is None:
            self._place = await on_thread_of(FOLLOWED, self._events.begin, asked.owner, asked.last, asked.kinds)

    async def texts(self) -> AsyncGenerator[str]:
        """The parts of the answer, each of whole events."""
        # Before older events no id is known yet: with one, a reader who comes back would miss them.
        is_late = self._asked.after is None and self._asked.last > 0
        yield f"retry: {RETRY_MS}\n\n" if is_late else f"retry: {RETRY_MS}\nid: {self._place.id}\n\n"
        end = time.monotonic() + BRIEF_SECONDS if self._asked.is_brief else inf
        beat = time.monotonic() + BEAT_SECONDS
        told_place = self._place
        while not self._events.streams.is_over:
            # Before anything is read: a slow reader may have taken long for what came before.
            if time.monotonic() >= beat:
                if not await self._is_allowed():
                    return
                beat = time.monotonic() + BEAT_SECONDS
                yield ":\n\n" if told_place == self._place else f"id: {self._place.id}\n\n"
                told_place = self._place
                continue
            read = await self._read()
            self._place = read.place
            if events := shown(read, self._asked.kinds, time.time()):
                yield "".join(as_text(place, event) for place, event in events)
                told_place = events[-1][0] or told_place
            now = time.monotonic()
            if self._asked.is_brief and (events or now >= end):
                break
            if not read.is_more:
                await self._waker.wait(max(0.0, min(LOOK_SECONDS, beat - now, end - now)))
        if told_place != self._place:  # those behind the last one that was told are of other kinds
            yield f"id: {self._place.id}\n\n"

    async def _read(self) -> Read:
        try:
            return await on_thread_of(FOLLOWED, self._events.log.after, self._asked.owner, self._place)
        except LociError:  # the store fails just now: the next look may succeed
            return Read((), self._place)


def as_text(place: Place | None, event: Event) -> str:
    """The event on the wire. JSON in ASCII has no line break, so nothing in it can begin another field."""
    id = "" if place is None else f"id: {place.id}\n"
    return f"{id}event: {event.kind}\ndata: {json.dumps(event.as_json(), separators=(',', ':'))}\n\n"
