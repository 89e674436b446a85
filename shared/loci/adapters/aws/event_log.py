"""`EventLog` in a table: an event is a record that expires, and its key is the time of its writing."""

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from loci.core.identity import Owner
from loci.core.storage_keys import EVENTS
from loci.core.stores import Record, RecordStore
from loci.events.event import START, Event, EventBatch, EventPosition

KEPT_SECONDS: Final = 3600.0
SETTLED_SECONDS: Final = 2.0
"""Seconds until an event is read. Before that, another process may be writing an event with a smaller key."""
AHEAD_SECONDS: Final = 60.0
"""A position that is further in the future cannot be from this log."""
AT_ONCE: Final = 200
"""The most events in one answer."""
FOLLOWED: Final = "events_followed"
"""The kind of the record which says that somebody follows an owner's events."""
FOLLOWED_SECONDS: Final = 24 * 3600.0
"""Seconds for which calls are recorded after somebody asked for events."""
RENEWED_SECONDS: Final = 600.0
LOOKED_SECONDS: Final = 10.0
"""Seconds for which the answer that nobody follows is cached."""
MOST_KNOWN: Final = 1000
RANDOM: Final = 1_000_000


class RecordEventLog:
    """A place is the time in microseconds, and a random number.

    The answer of a call waits until its event is written. So calls are recorded only after somebody asked for events.
    """

    def __init__(
        self,
        records: RecordStore,
        clock: Callable[[], float] = time.time,
        *,
        kind: str = EVENTS,
        kept_seconds: float = KEPT_SECONDS,
        keeps_all: bool = False,
    ) -> None:
        """`keeps_all`: calls are recorded also if nobody has asked for events."""
        self._kind = kind
        self._kept_seconds = kept_seconds
        self._keeps_all = keeps_all
        self._records = records
        self._clock = clock
        self._turn = threading.Lock()
        self._last = 0
        self._known: dict[Owner, tuple[bool, float]] = {}
        """By owner: True if a stream follows the events, and the time until which this answer counts."""

    def append(self, owner: Owner, events: Sequence[Event]) -> None:
        until = self._clock() + self._kept_seconds
        for one in events:
            if self._keeps_all or one.kind != "call" or self._is_followed(owner):
                self._records.put(owner, self._kind, self._new_key(), one.stored(), expires_at=until, durable=False)

    def end(self, owner: Owner) -> EventPosition:
        self._follow(owner)
        return self._at(0)

    def since(self, owner: Owner, at: float) -> EventPosition:  # noqa: ARG002
        return self._at(min(0.0, max(at - self._clock(), -self._kept_seconds)) - AHEAD_SECONDS)

    def after(self, owner: Owner, place: EventPosition) -> EventBatch:
        self._follow(owner)
        settled = self._at(-SETTLED_SECONDS)
        has_gap = place.part != START.part and not self._at(-self._kept_seconds) <= place <= self._at(AHEAD_SECONDS)
        page = self._records.list(owner, self._kind, limit=AT_ONCE, after=_key(START if has_gap else place))
        read = [(_place(one), one) for one in page.records]
        events = [(at, event) for at, one in read if at < settled and (event := Event.from_stored(one.value))]
        if page.next is not None and read[-1][0] < settled:
            return EventBatch(events, read[-1][0], has_gap, is_more=True)
        return EventBatch(events, settled if has_gap else max(place, settled), has_gap)

    def _at(self, seconds: float) -> EventPosition:
        """The place of an event that happens this many seconds from now."""
        return EventPosition(int((self._clock() + seconds) * 1e6), 0)

    def _new_key(self) -> str:
        """A key after all keys that this process has written."""
        with self._turn:
            self._last = max(self._last + 1, self._at(0).part)
            return _key(EventPosition(self._last, secrets.randbelow(RANDOM)))

    def _follow(self, owner: Owner) -> None:
        """Have all processes record the owner's calls."""
        now = self._clock()
        is_followed, until = self._known.get(owner, (self._keeps_all, now))
        if not is_followed or now > until:
            self._records.put(owner, FOLLOWED, "last", {"at": now}, expires_at=now + FOLLOWED_SECONDS)
            self._keep(owner, is_followed=True)

    def _is_followed(self, owner: Owner) -> bool:
        is_followed, until = self._known.get(owner, (False, 0.0))
        if self._clock() > until:
            is_followed = self._records.get(owner, FOLLOWED, "last") is not None
            self._keep(owner, is_followed=is_followed)
        return is_followed

    def _keep(self, owner: Owner, *, is_followed: bool) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[owner] = is_followed, self._clock() + (RENEWED_SECONDS if is_followed else LOOKED_SECONDS)


def _key(place: EventPosition) -> str:
    return f"{place.part:016}.{place.at:06}"


def _place(record: Record) -> EventPosition:
    part, _, at = record.key.partition(".")
    return EventPosition(int(part), int(at))
