"""Events: the one door. What happens is reported here, kept, and followed by open streams."""

import asyncio
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from loci.core.background import BackgroundQueue
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.events import EVENT_KINDS, EventKind
from loci.core.identity import Owner, one_line
from loci.core.json import JsonObject
from loci.core.secrets_in_text import argument_sizes, fit_to_show
from loci.core.telemetry import Called
from loci.events.event import MISSED, START, Event, EventBatch, EventLog, EventPosition

if TYPE_CHECKING:
    from loci.events.notices import Notices

MOST_OPEN: Final = 32
"""The most open streams of an owner."""
MOST_IN_ALL: Final = 500
TOO_MANY: Final = "TOO_MANY_STREAMS"
LOOK_SECONDS: Final = 1.0
"""Seconds between two checks for events of other processes."""


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
    """The open streams of each owner, woken when the log grows, and ended when the server stops."""

    def __init__(self) -> None:
        self.is_over = False
        """True: the server stops."""
        self._turn = threading.Lock()
        self._open: dict[Owner, set[Waker]] = {}

    @contextmanager
    def open(self, owner: Owner) -> Generator[Waker]:
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


WRITE: Final = "write"
"""The kind of an event in the log of calls that says what a call wrote."""
PATIENCE: Final = 2.0
"""Seconds in which the last events are written when a process ends, or may stand still."""
NOTICE_PATIENCE: Final = 3.0
"""Seconds from then on in which the last notices are sent."""
MOST_SHOWN: Final = 1000
"""The most past events that a reader gets."""
MOST_WAITING: Final = 2000
"""Events of an owner that are not written yet."""
GATHERING: Final = 0.03
"""Seconds in which events gather, to be written at once."""


class EventWriter:
    """Writes events to a log, without keeping anybody waiting."""

    def __init__(
        self,
        log: EventLog,
        clock: Callable[[], float],
        writing: BackgroundQueue,
        written: Callable[[Owner], None] = lambda _: None,
    ) -> None:
        """`written`: called whenever events of the owner were written."""
        self._log = log
        self._clock = clock
        self._writing = writing
        self._written = written
        self._turn = threading.Lock()
        self._waiting: dict[Owner, list[Event]] = {}
        self._left_out: dict[Owner, int] = {}
        """The number of events that could not be written. The next written event is preceded by that number."""

    def add(self, owner: Owner, kind: EventKind | Literal["write"], fields: JsonObject) -> None:
        """Have the event written soon."""
        with self._turn:
            waiting = self._waiting.setdefault(owner, [])
            if len(waiting) < MOST_WAITING:
                waiting.append(Event(kind, self._clock(), fields))
            else:
                self._left_out[owner] = self._left_out.get(owner, 0) + 1
        self._writing.do(partial(self._write, owner), (self, owner))

    def _write(self, owner: Owner) -> None:
        with self._turn:
            events = [replace(one, fields=fit_to_show(one.fields)) for one in self._waiting.pop(owner, [])]
            lost = self._left_out.pop(owner, 0)
        try:
            self._log.append(owner, [*events, missed_event(self._clock(), lost)] if lost else events)
        except LociError:
            with self._turn:
                self._left_out[owner] = self._left_out.get(owner, 0) + lost + len(events)
        self._written(owner)


class Events:
    """The events of each owner: written, kept, followed. And the log of calls, which is kept for longer."""

    def __init__(
        self,
        log: EventLog,
        clock: Callable[[], float] = time.time,
        notices: "Notices | None" = None,
        calls: tuple[EventLog, int] | None = None,
    ) -> None:
        """`notices`: get each event, for people who follow no stream. `calls`: their log, and how many days it has."""
        self.notices = notices
        self.log = log
        self.streams = Streams()
        self.followed_lists = Streams()
        """The clients that are told of changed lists: they take no place of those who read events."""
        self._clock = clock
        self._calls = calls
        self._writing = BackgroundQueue(GATHERING)
        self._events = EventWriter(log, clock, self._writing, self.streams.wake)
        self._call_log = EventWriter(calls[0], clock, self._writing) if calls else None
        # A command may end without a word to its parts.
        weakref.finalize(self, _finish, self._writing, notices, PATIENCE)

    def tell(self, owner: Owner, kind: EventKind, fields: JsonObject) -> None:
        """Report an event, without waiting."""
        if self.notices is not None:
            self.notices.tell(owner, kind, fields)
        self._events.add(owner, kind, fields)

    def called(self, called: Called) -> None:
        """Report a call as an event, and put it into the log of calls with its caller, but without its arguments."""
        fields: JsonObject = {
            "tool": called.tool,
            "door": called.door,
            "outcome": called.outcome,
            "code": called.code,
            "ms": round(called.ms, 2),
            "asked": called.asked,
            "answered": called.answered,
        }
        owner, by = called.caller.owner, called.caller
        if self._call_log is not None:
            who = {"proof": by.proof, "key": one_line(by.name), "credential": by.credential}
            told = {**who, "client": by.client, "session": by.session}
            self._call_log.add(owner, "call", {**fields, **{name: text for name, text in told.items() if text}})
        self.tell(owner, "call", {**fields, "arguments": argument_sizes(called.arguments)})

    def wrote(self, owner: Owner, fields: JsonObject) -> None:
        """Put a write into the log of calls: its tool, what it wrote, its writer and the trust in it."""
        if self._call_log is not None:
            self._call_log.add(owner, WRITE, fields)

    def calls(
        self,
        owner: Owner,
        since: float,
        tool: str | None = None,
        after: EventPosition | None = None,
        *,
        writes: bool = False,
    ) -> EventBatch:
        """The next logged calls of the owner since that time, the oldest first: of this tool, if one is named.

        `after`: the place that an earlier answer gave. `writes`: what the calls wrote, in their place.
        """
        if self._calls is None:
            what = "No log of calls is kept here: call_log_days is 0"
            raise Refused(what, "Set it to the days for which you want one", code="NO_CALL_LOG")
        log, days = self._calls
        since = max(since, self._clock() - days * 86_400)
        read = log.after(owner, after or log.since(owner, since))

        def fits(one: Event) -> bool:
            is_wanted = one.kind == MISSED or (one.kind == WRITE) is writes
            return is_wanted and one.at >= since and tool in (None, one.fields.get("tool", tool))

        return replace(read, events=[(at, one) for at, one in read.events if fits(one)])

    def finish(self, seconds: float = PATIENCE) -> None:
        """Write and send what waits: this process may stand still, or end."""
        _finish(self._writing, self.notices, seconds)

    def end_streams(self) -> None:
        """End all streams: the server stops."""
        self.streams.end()
        self.followed_lists.end()

    def close(self) -> None:
        """End all streams, and write what waits: the server stops."""
        self.end_streams()
        self.finish()

    def start_position(self, owner: Owner, last: int, kinds: Collection[str]) -> EventPosition:
        """The position of a reader who wants the `last` events of these kinds, and all that follow."""
        place = START
        if last <= 0:
            return self.log.end(owner)
        begins = deque[EventPosition](maxlen=min(last, MOST_SHOWN))
        is_more = True
        while is_more:
            read = self.log.after(owner, place)
            for behind, event in read.events:
                if event.kind in kinds:
                    begins.append(place)
                place = behind
            place, is_more = read.place, read.is_more
        return begins[0] if begins else place

    def follow(
        self, owner: Owner, kinds: Collection[str], last: int, pause: Callable[[], object]
    ) -> Generator[tuple[EventPosition | None, Event]]:
        """The `last` events of these kinds, and all that follow. `pause` is called while there are no new ones."""
        place = self.start_position(owner, last, kinds)
        while True:
            read = self.log.after(owner, place)
            yield from visible_events(read, kinds, self._clock())
            place = read.place
            if not read.is_more:
                pause()


def _finish(writing: BackgroundQueue, notices: "Notices | None", seconds: float) -> None:
    until = time.monotonic() + NOTICE_PATIENCE
    writing.finish(seconds)
    if notices is not None:
        notices.finish(max(0.0, until - time.monotonic()))


def visible_events(read: EventBatch, kinds: Collection[str], now: float) -> list[tuple[EventPosition | None, Event]]:
    """The events of these kinds with their positions, after an event without a position if there is a gap."""
    gap = [(None, missed_event(now, None))] if read.has_gap else []
    return [*gap, *((place, event) for place, event in read.events if event.kind in {*kinds, MISSED})]


def missed_event(now: float, count: int | None) -> Event:
    """The event that says how many events are missing. `count`: None if unknown."""
    return Event(MISSED, now, {"count": count})


def parsed_kinds(text: str | None) -> frozenset[str]:
    """The kinds that the text names, with commas between them; all without a text. Raises `Refused`."""
    if text is None:
        return frozenset(EVENT_KINDS)
    named = [one.strip() for one in text.split(",") if one.strip()]
    unknown = next((one for one in named if one not in EVENT_KINDS), None)
    if unknown is not None or not named:
        what = "No kind of events is named" if unknown is None else f"There are no events of the kind {unknown[:40]!r}"
        raise Refused(what, f"Name some of {', '.join(EVENT_KINDS)}, with commas between them", code="UNKNOWN_KIND")
    return frozenset(named)
