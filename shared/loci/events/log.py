"""The log of each owner's events, in the record store: batches with numbers, which all processes write and read.

A batch is written only if no other has its number, and only by who has seen the one before: so whoever has read up to
a number will never see a smaller one appear.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from loci.core.errors import Conflict
from loci.core.identity import Owner
from loci.core.layout import EVENT_RECORDS
from loci.core.stores import ABSENT, Record, RecordStore, read_or_none
from loci.events.event import START, Event, Place, Read

BATCH, COUNT = EVENT_RECORDS
"""The kinds of records: a batch of events, and about how many batches there were."""
KEPT_SECONDS: Final = 3600.0
SURE_SECONDS: Final = KEPT_SECONDS / 2
"""While the last batch that a process knows is younger, everybody sees it."""
MOST_BATCHES: Final = 1000
"""Of an owner, where old ones are removed one by one."""
AT_ONCE: Final = 50
"""Batches in one answer."""
COUNTED_EVERY: Final = 8
TRIMMED_EVERY: Final = 50
LEAP: Final = 1000
"""When all batches have expired, nobody knows for sure how many there were: the count may lack the last few of them."""
MOST_KNOWN: Final = 1000
MOST_RECENT: Final = 64


@dataclass(frozen=True, slots=True)
class _Batch:
    number: int
    before: int
    """The number of the one before."""
    written_at: float
    events: tuple[Event, ...]

    @property
    def end(self) -> Place:
        return Place(self.number, max(0, len(self.events) - 1), is_last=True)


class EventLog:
    """Writes and reads them. Raises `LociError` if the store fails."""

    def __init__(self, records: RecordStore, clock: Callable[[], float] = time.time, *, trims: bool) -> None:
        """`trims`: remove what is too much. Without it, batches only expire."""
        self._records = records
        self._clock = clock
        self._trims = trims
        self._turn = threading.Lock()
        self._newest: dict[Owner, _Batch] = {}
        self._recent: dict[tuple[Owner, int], _Batch] = {}
        """The batches that this process has written last, by the number before."""

    def append(self, owner: Owner, events: Sequence[Event]) -> None:
        """Write them as one batch."""
        known = self._known(owner)
        before, is_there = self._last(owner) if known is None else (known, True)
        number = before + 1 if is_there else before + LEAP
        told = [[one.kind, one.at, one.fields] for one in events]
        while True:
            now = self._clock()
            value = cast("dict[str, Any]", {"before": before, "at": now, "events": told})
            until = now + KEPT_SECONDS
            try:
                self._records.put(
                    owner, BATCH, _key(number), value, expect_version=ABSENT, expires_at=until, durable=False
                )
                break
            except Conflict:
                before = self._newest_from(owner, number)
                number = before + 1
        self._remember(owner, _Batch(number, before, now, tuple(events)))
        if number % COUNTED_EVERY == 0 or number == 1 or number != before + 1:
            self._records.put(owner, COUNT, "newest", {"number": number}, durable=False)
        if self._trims and number % TRIMMED_EVERY == 0:
            self._trim(owner, number - MOST_BATCHES)

    def end(self, owner: Owner) -> Place:
        """The place of the last event."""
        last, is_there = self._last(owner)
        record = self._records.get(owner, BATCH, _key(last)) if is_there and last else None
        return Place(last) if record is None else _batch(record).end

    def found(self, owner: Owner, place: Place) -> Place | None:
        """The place; None if this log has never been so long: it is of one that was deleted since."""
        last, is_there = self._last(owner)
        is_known = place.batch <= (last if is_there else last + LEAP)
        return place if is_known else None

    def before_last(self, owner: Owner, count: int, kinds: frozenset[str]) -> Place:
        """The place before the last so many events of these kinds."""
        last, _ = self._last(owner)
        place = Place(max(0, last - MOST_BATCHES), is_last=True)
        first: Place | None = None
        found = list[Place]()
        is_more = True
        while is_more:
            batches, is_more = self._page(owner, place)
            for one in batches:
                earlier = Place(one.before, is_last=True)
                first = first or earlier
                for at, event in enumerate(one.events):
                    if event.kind in kinds:
                        found.append(earlier)
                    earlier = Place(one.number, at)
                place = one.end
        return found[-count] if count <= len(found) else first or START

    def recent(self, owner: Owner, place: Place) -> Read | None:
        """The next events if this process has just written them. None says nothing about those of others."""
        with self._turn:
            found = self._recent.get((owner, place.batch)) if place.is_last else None
        return None if found is None else _read([found], place, is_more=True)

    def after(self, owner: Owner, place: Place) -> Read:
        """The next events behind the place."""
        batches, is_more = self._page(owner, place)
        return _read(batches, place, is_more=is_more)

    def _page(self, owner: Owner, place: Place) -> tuple[list[_Batch], bool]:
        after = _key(place.batch if place.is_last else max(0, place.batch - 1))
        page = self._records.list(owner, BATCH, limit=AT_ONCE, after=after)
        return [_batch(one) for one in page.records], page.next is not None

    def _last(self, owner: Owner) -> tuple[int, bool]:
        """The number of the last batch, and True; if all have expired, about that, and False."""
        known = self._known(owner)
        if known is not None:
            return self._newest_from(owner, known), True
        record = self._records.get(owner, COUNT, "newest")
        count = read_or_none(record, lambda one: int(cast("int", one.value["number"]))) or 0
        newest = self._newest_from(owner, count)
        is_there = newest != count or count == 0 or self._records.get(owner, BATCH, _key(count)) is not None
        return newest, is_there

    def _known(self, owner: Owner) -> int | None:
        """The number of the last batch that this process wrote, if it is young. Others may have written more."""
        with self._turn:
            known = self._newest.get(owner)
        return known.number if known is not None and self._clock() - known.written_at < SURE_SECONDS else None

    def _newest_from(self, owner: Owner, number: int) -> int:
        """The number of the last batch; this one if there is none behind it."""
        after: str | None = _key(number)
        while after is not None:
            page = self._records.list(owner, BATCH, limit=500, after=after)
            number = int(page.records[-1].key) if page.records else number
            after = page.next
        return number

    def _remember(self, owner: Owner, batch: _Batch) -> None:
        with self._turn:
            if len(self._newest) >= MOST_KNOWN:
                self._newest.clear()
            self._newest[owner] = batch
            self._recent[owner, batch.before] = batch
            if len(self._recent) > MOST_RECENT:
                del self._recent[next(iter(self._recent))]

    def _trim(self, owner: Owner, last: int) -> None:
        page = self._records.list(owner, BATCH, limit=2 * TRIMMED_EVERY)
        for one in page.records:
            if int(one.key) <= last:
                self._records.remove(owner, BATCH, one.key, durable=False)


def _read(batches: Sequence[_Batch], place: Place, *, is_more: bool) -> Read:
    has_gap = bool(batches) and batches[0].before > place.batch
    found = list[tuple[Place, Event]]()
    for one in batches:
        first = place.event + 1 if one.number == place.batch else 0
        last = len(one.events) - 1
        found += [(Place(one.number, at, at == last), one.events[at]) for at in range(first, last + 1)]
    return Read(tuple(found), batches[-1].end if batches else place, has_gap, is_more)


def _key(number: int) -> str:
    return f"{number:012}"


def _batch(record: Record) -> _Batch:
    """The batch of a record. One that something else than Loci wrote has no events."""

    def read(record: Record) -> _Batch:
        value = cast("dict[str, Any]", record.value)
        events = tuple(Event(str(kind), float(at), dict(fields)) for kind, at, fields in value["events"])
        return _Batch(int(record.key), int(value["before"]), float(value["at"]), events)

    number = int(record.key)
    return read_or_none(record, read) or _Batch(number, number - 1, 0, ())
