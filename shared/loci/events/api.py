"""Events: the one door. What happens is told here, and followed here."""

import time
import weakref
from collections.abc import Callable, Collection, Generator
from typing import TYPE_CHECKING

from loci.core.calls import Called
from loci.core.errors import Refused
from loci.core.events import EVENT_KINDS, EventKind
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.stores import RecordStore
from loci.events.called import call_fields
from loci.events.event import MISSED, Event, Place, Read
from loci.events.log import EventLog
from loci.events.streams import Streams
from loci.events.wanted import Wanted
from loci.events.writing import Writing

if TYPE_CHECKING:
    from loci.events.notices import Notices

PATIENCE = 2.0
"""Seconds in which the last events are written when a process ends, or may stand still."""
NOTICE_PATIENCE = 3.0
"""Seconds from then on in which the last notices are sent."""
MOST_SHOWN = 1000
"""Of those that have happened before."""


class Events:
    """The events of each owner: written, kept, followed."""

    def __init__(
        self,
        records: RecordStore,
        clock: Callable[[], float] = time.time,
        *,
        keeps_all: bool,
        trims: bool = False,
        notices: "Notices | None" = None,
    ) -> None:
        """`keeps_all`: also calls that nobody follows. `trims`: old events are removed, they do not only expire.

        `notices`: told of each event, for people who follow none.
        """
        self.notices = notices
        self.log = EventLog(records, clock, trims=trims)
        self.streams = Streams()
        self._clock = clock
        self._wanted = wanted = None if keeps_all else Wanted(records, clock)

        def is_wanted(owner: Owner, event: Event) -> bool:
            return event.kind != "call" or wanted is None or wanted.is_so(owner)

        self._writing = Writing(self.log, is_wanted, self.streams.wake)
        # A command may end without a word to its parts.
        weakref.finalize(self, _finish, self._writing, notices, PATIENCE)

    def tell(self, owner: Owner, kind: EventKind, fields: JsonObject) -> None:
        """Tell what has happened. Waits for nothing."""
        if self.notices is not None:
            self.notices.tell(owner, kind, fields)
        self._writing.add(owner, Event(kind, self._clock(), fields))

    def called(self, called: Called) -> None:
        """Tell of a call."""
        self.tell(called.caller.owner, "call", call_fields(called))

    def finish(self, seconds: float = PATIENCE) -> None:
        """Write and send what waits: this process may stand still, or end."""
        _finish(self._writing, self.notices, seconds)

    def close(self) -> None:
        """End all streams, and write what waits: the server stops."""
        self.streams.end()
        self.finish()

    def begin(self, owner: Owner, after: Place | None, last: int, kinds: frozenset[str]) -> tuple[Place, bool]:
        """The place where a reader begins, and True if the one that they want to go on behind is not known any more.

        `after`: how far they have read. Without it, they get the `last` so many events and what comes.
        """
        if self._wanted is not None:
            self._wanted.mark(owner)
        if after is not None:
            place = self.log.found(owner, after)
            return (place, False) if place else (self.log.before_last(owner, MOST_SHOWN, kinds), True)
        if last > 0:
            return self.log.before_last(owner, min(last, MOST_SHOWN), kinds), False
        return self.log.end(owner), False

    def follow(
        self, owner: Owner, kinds: Collection[str], last: int, pause: Callable[[], object]
    ) -> Generator[tuple[Place | None, Event]]:
        """The last so many events of these kinds, and all that come. `pause` is called when there are none for now."""
        wanted = frozenset(kinds) | {MISSED}
        place, _ = self.begin(owner, None, last, frozenset(kinds))
        while True:
            read = self.log.after(owner, place)
            yield from shown(read, wanted, self._clock())
            place = read.place
            if not read.is_more:
                pause()


def _finish(writing: Writing, notices: "Notices | None", seconds: float) -> None:
    until = time.monotonic() + NOTICE_PATIENCE
    writing.finish(seconds)
    if notices is not None:
        notices.finish(max(0.0, until - time.monotonic()))


def shown(read: Read, kinds: Collection[str], now: float) -> list[tuple[Place | None, Event]]:
    """Those of these kinds, behind a word about the ones that are missing. That has no place."""
    gap = [(None, gap_event(now))] if read.has_gap else []
    return [*gap, *((place, event) for place, event in read.events if event.kind in kinds)]


def gap_event(now: float) -> Event:
    """Tells that nobody knows how many events are missing."""
    return Event(MISSED, now, {"count": None})


def parsed_kinds(text: str | None) -> frozenset[str]:
    """The kinds that somebody names, with commas between them; all if they name none. Raises `Refused`."""
    if text is None:
        return frozenset(EVENT_KINDS)
    named = [one.strip() for one in text.split(",") if one.strip()]
    unknown = next((one for one in named if one not in EVENT_KINDS), None)
    if unknown is not None or not named:
        what = "No kind of events is named" if unknown is None else f"There are no events of the kind {unknown[:40]!r}"
        raise Refused(what, f"Name some of {', '.join(EVENT_KINDS)}, with commas between them", code="UNKNOWN_KIND")
    return frozenset(named)
