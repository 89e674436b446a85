"""Tells a person that a question waits for them. A thread takes each notice to each recipient; nobody waits for it."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, cast

from loci.core.errors import LociError
from loci.core.events import EventKind
from loci.core.finding import Finding
from loci.core.identity import SYSTEM, Owner
from loci.core.ids import random_id
from loci.core.json import JsonObject
from loci.core.lazy import Lazy
from loci.core.stores import RecordStore
from loci.core.telemetry import Telemetry
from loci.events.notice import Notice, notice_of
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS

PAUSES: Final = (2.0, 10.0, 60.0, 240.0)
"""Seconds between the tries."""
LONGEST_PAUSE: Final = 900.0
"""Even if a recipient asks for more."""
MOST_UNDER_WAY: Final = 100
NAME: Final = "notify"
SENT: Final = "notice_sent"
"""The kind of the records that say how the last notice to a recipient ended."""
KEPT_SECONDS: Final = 30 * 24 * 3600.0
PAGES: Final = "pages"
"""The key of the record with the address of the pages, which only one of a deployment's functions knows."""
NO_TIME: Final = "it was not there in time, and this process ends or stands still now"


@dataclass(frozen=True, slots=True)
class Delivered:
    """The recipient has the notice."""


@dataclass(frozen=True, slots=True)
class Undelivered:
    """One try has failed."""

    why: str
    """A sentence without the recipient's address."""
    is_final: bool = False
    """True: another try would fail, too."""
    after: float = 0.0
    """Seconds for which the recipient wants to be left alone."""


Delivery = Delivered | Undelivered


class Messenger(Protocol):
    """Takes notices to one recipient."""

    @property
    def where(self) -> str:
        """The recipient in a word, without its secret."""
        ...

    @property
    def key(self) -> str:
        """Names the recipient in the store."""
        ...

    def send(self, notice: Notice) -> Delivery:
        """Try once."""
        ...


class Notices:
    """Sends them, and remembers for each recipient how the last one ended."""

    def __init__(
        self,
        messengers: Callable[[], Sequence[Messenger]],
        base_url: str | None,
        records: RecordStore,
        telemetry: Telemetry,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`messengers` may ask a store for secrets. `base_url`: where the pages are, if this process knows."""
        self._messengers = Lazy(messengers)
        self._base_url = base_url
        self._records = records
        self._telemetry = telemetry
        self._clock = clock
        self._changed = threading.Condition()
        self._under_way: dict[object, Messenger | None] = {}
        """The work of threads, by its token: its messenger, or None if it does not go to one recipient yet."""
        self._is_ending = False

    def tell(self, owner: Owner, kind: EventKind, fields: JsonObject) -> None:
        """Send a notice if this event is a question that only a person may answer. Waits for nothing."""
        if kind == "approval" and fields.get("state") == "asked" and fields.get("only_person"):
            self._start(partial(self._spread, owner, self._clock(), fields))

    def note_pages(self) -> None:
        """Have other processes know the address of the pages."""
        self._start(self._note_pages)

    def finish(self, seconds: float) -> None:
        """Wait for what is under way: a second try comes at once, and is the last one. Then give up what is left."""
        until = time.monotonic() + seconds
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()
            while self._under_way and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
            late = [*self._under_way.values()]
            self._under_way.clear()
            self._is_ending = False
        for one in late:
            self._telemetry.not_told(where=one.where if one else NAME, reason=NO_TIME, tries=0)
            if one:
                self._note_end(one, NO_TIME)

    def findings(self) -> list[Finding]:
        """How the last notice to each recipient ended, for `loci doctor`."""
        messengers = self._messengers.get()
        ends = self._records.get_all(SYSTEM, SENT, [one.key for one in messengers])
        found: list[Finding] = []
        for one in messengers:
            why = ends[one.key].value.get("why") if one.key in ends else None
            if why:
                advice = "Correct notify, or mend what it names; the next question tries again"
                found.append(Finding(NAME, "warning", f"The last notice did not reach {one.where}: {why}", advice))
            else:
                how = "has the last notice" if one.key in ends else "had no notice in the last month"
                found.append(Finding(NAME, "ok", f"{one.where} {how}"))
        return found

    def _start(self, work: Callable[[object], None], messenger: Messenger | None = None) -> None:
        token = object()
        with self._changed:
            is_full = len(self._under_way) >= MOST_UNDER_WAY
            if not is_full:
                self._under_way[token] = messenger
        if is_full:
            where, why = messenger.where if messenger else NAME, f"{MOST_UNDER_WAY} notices are under way"
            self._telemetry.not_told(where=where, reason=why, tries=0)
            return
        DAEMON_THREADS.start(partial(self._do, work, token))

    def _do(self, work: Callable[[object], None], token: object) -> None:
        try:
            work(token)
        finally:
            with self._changed:
                self._under_way.pop(token, None)
                self._changed.notify_all()

    def _spread(self, owner: Owner, at: float, fields: JsonObject, _: object) -> None:
        """Send a notice of this event to each recipient."""
        try:
            messengers, url = self._messengers.get(), self._url()
        except LociError as error:
            self._telemetry.not_told(where=NAME, reason=str(error), tries=0)
            return
        notice = notice_of(f"msg_{random_id(24)}", owner, at, fields, url)
        for one in messengers:
            self._start(partial(self._deliver, one, notice), one)

    def _deliver(self, messenger: Messenger, notice: Notice, token: object) -> None:
        for number, pause in enumerate((*PAUSES, None), 1):
            is_last = pause is None or (self._is_ending and number > 1)
            delivery = messenger.send(notice)
            if self._is_given_up(token):  # that was told already
                return
            match delivery:
                case Delivered():
                    self._note_end(messenger, None)
                    return
                case Undelivered(why, is_final, after):
                    if is_last or is_final:
                        self._note_end(messenger, why)
                        self._telemetry.not_told(where=messenger.where, reason=why, tries=number)
                        return
                    if not self._paused(max(pause or 0.0, min(after, LONGEST_PAUSE)), token):
                        return

    def _paused(self, seconds: float, token: object) -> bool:
        """Wait until it is time for the next try. False if the notice was given up."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_ending or self._is_given_up(token), seconds)
            return not self._is_given_up(token)

    def _is_given_up(self, token: object) -> bool:
        return token not in self._under_way

    def _note_end(self, messenger: Messenger, why: str | None) -> None:
        value: JsonObject = {"where": messenger.where, "why": why}
        until = self._clock() + KEPT_SECONDS
        with suppress(LociError):  # then `loci doctor` does not know it; the log does
            self._records.put(SYSTEM, SENT, messenger.key, value, expires_at=until, durable=False)

    def _url(self) -> str | None:
        if self._base_url is not None:
            return self._base_url
        record = self._records.get(SYSTEM, SENT, PAGES)
        return cast("str | None", record.value.get("url")) if record else None

    def _note_pages(self, _: object) -> None:
        with suppress(LociError):  # a notice has no address then
            record = self._records.get(SYSTEM, SENT, PAGES)
            if record is None or record.value.get("url") != self._base_url:
                self._records.put(SYSTEM, SENT, PAGES, {"url": self._base_url})
