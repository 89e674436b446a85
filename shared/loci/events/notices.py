"""Notices of questions that wait for a person. Each recipient has a queue of them; nobody waits for it."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final, Protocol, cast

from loci.core.background import BackgroundQueue
from loci.core.diagnosis import Finding
from loci.core.errors import LociError
from loci.core.events import EventKind
from loci.core.identity import LOCAL, SYSTEM, Owner
from loci.core.ids import random_id
from loci.core.json import Json, JsonObject
from loci.core.lazy import Lazy
from loci.core.secrets_in_text import fit_to_show
from loci.core.stores import RecordStore
from loci.core.telemetry import Telemetry
from loci.events.event import iso_time

LONGEST_TITLE: Final = 100
PAGE: Final = "/ui/runs"
_ODD: Final = re.compile(r"[^A-Za-z0-9_:-]")
PAUSES: Final = (2.0, 10.0, 60.0, 240.0)
"""Seconds between the attempts."""
LONGEST_PAUSE: Final = 900.0
"""The most seconds between two attempts, even if a recipient asks for more."""
MOST_WAITING: Final = 100
"""The most notices that wait for one recipient."""
NAME: Final = "notify"
SENT: Final = "notice_sent"
"""The kind of the records that say how the last notice to a recipient ended."""
KEPT_SECONDS: Final = 30 * 24 * 3600.0
PAGES: Final = "pages"
"""The key of the record with the address of the pages, which only one of a deployment's functions knows."""
NO_TIME: Final = "it was not there in time, and this process ends or stands still now"


@dataclass(frozen=True, slots=True)
class Notice:
    """A question to a person. Texts that others chose (the title, names) are one short line each."""

    id: str
    """The same at each try, so that a receiver knows it again."""
    at: float
    tool: str
    title: str
    asked_by: str
    run: str
    """The id of the workflow or of the call that waits."""
    checkpoint: str
    owner: str
    """Empty: the person at this machine."""
    page: str | None
    """The address of the pages; None if no process has reported it yet."""

    @property
    def what(self) -> str:
        """The question in one sentence."""
        return f"Loci waits for your answer: may it {f'call {self.tool}' if self.tool != 'code' else 'run code'}?"

    @property
    def facts(self) -> Iterator[tuple[str, str]]:
        """Further facts, each with its name."""
        if self.title:
            yield "Title", self.title
        if self.asked_by:
            yield "Asked by", self.asked_by
        if self.owner:
            yield "For", self.owner
        yield "When", f"{datetime.fromtimestamp(self.at, UTC):%Y-%m-%d %H:%M} UTC"
        yield "Id", self.run


def notice_of(id: str, owner: Owner, at: float, fields: JsonObject, base_url: str | None) -> Notice:
    """The notice of an event about an approval."""
    told = {name: value for name, value in fit_to_show(fields).items() if isinstance(value, str)}
    shown = str(fit_to_show({"owner": owner.name})["owner"])
    return Notice(
        id,
        at,
        told.get("tool") or "code",
        told.get("title", "")[:LONGEST_TITLE],
        told.get("asked_by", ""),
        told.get("workflow", ""),
        told.get("checkpoint", ""),
        "" if owner == LOCAL else shown,
        base_url and f"{base_url.rstrip('/')}{PAGE}",
    )


def as_json(notice: Notice) -> JsonObject:
    """The body for programs, in the form that Standard Webhooks recommends."""
    return {
        "type": "approval.asked",
        "timestamp": iso_time(notice.at),
        "data": {
            "text": notice.what,
            "tool": notice.tool,
            "title": notice.title,
            "asked_by": notice.asked_by,
            "workflow": notice.run,
            "checkpoint": notice.checkpoint,
            "owner": notice.owner,
            "page": notice.page,
        },
    }


def as_slack(notice: Notice) -> JsonObject:
    """The body for an incoming webhook of Slack. In rich text, only an element of its own is a link or a mention."""
    texts = [notice.what, *(f"\n{name}: {value}" for name, value in notice.facts)]
    parts: list[Json] = [*({"type": "text", "text": text} for text in texts)]
    if notice.page:
        parts.append({"type": "text", "text": "\n"})
        parts.append({"type": "link", "url": notice.page, "text": "Open the approvals"})
    rich: Json = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": parts}]}
    # What a phone shows first. Slack reads markup in it, and makes links of what looks like a host.
    return {"text": f"Loci waits for your answer: {_ODD.sub('_', notice.tool)}", "blocks": [rich]}


def as_teams(notice: Notice) -> JsonObject:
    """The body for a webhook of Teams' Workflows. A text run of a card has no Markdown, and no mentions."""
    texts = [notice.what, *(f"{name}: {value}" for name, value in notice.facts)]
    card: JsonObject = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text}]} for text in texts],
    }
    if notice.page:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open the approvals", "url": notice.page}]
    attachment: Json = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def as_text(notice: Notice) -> str:
    """The notice for a mail."""
    lines = [notice.what, "", *(f"{name}: {value}" for name, value in notice.facts)]
    return "\n".join([*lines, "", f"Answer at {notice.page}"] if notice.page else lines)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The recipient has the notice."""


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A failed attempt to deliver."""

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
    """Sends notices, and keeps for each recipient the outcome of the last one."""

    def __init__(
        self,
        messengers: Callable[[], Sequence[Messenger]],
        base_url: str | None,
        records: RecordStore,
        telemetry: Telemetry,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`messengers` may ask a store for secrets. `base_url`: where the pages are, if this process knows."""
        self._queues = Lazy(lambda: [(one, BackgroundQueue(most=MOST_WAITING)) for one in messengers()])
        self._spreading = BackgroundQueue(most=MOST_WAITING)
        self._base_url = base_url
        self._records = records
        self._telemetry = telemetry
        self._clock = clock
        self._ending = threading.Event()

    def tell(self, owner: Owner, kind: EventKind, fields: JsonObject) -> None:
        """Send a notice if this event is a question that only a person may answer. Waits for nothing."""
        if kind == "approval" and fields.get("state") == "asked" and fields.get("only_person"):
            self._begin(self._spreading, partial(self._spread, owner, self._clock(), fields), NAME)

    def note_pages(self) -> None:
        """Have other processes know the address of the pages."""
        self._spreading.do(self._note_pages)

    def finish(self, seconds: float) -> None:
        """Wait for notices under way: a second attempt follows at once, and is the last. Report the others."""
        until = time.monotonic() + seconds
        self._ending.set()
        if not self._spreading.finish(seconds):
            self._telemetry.not_told(where=NAME, reason=NO_TIME, tries=0)
        for messenger, queue in self._queues.made or ():
            if not queue.finish(max(0.0, until - time.monotonic())):
                self._telemetry.not_told(where=messenger.where, reason=NO_TIME, tries=0)
                self._note_end(messenger, NO_TIME)
        self._ending.clear()

    def findings(self) -> list[Finding]:
        """The outcome of the last notice to each recipient, for `loci doctor`."""
        messengers = [one for one, _ in self._queues.get()]
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

    def _begin(self, queue: BackgroundQueue, work: Callable[[], None], where: str) -> None:
        if not queue.do(work):
            self._telemetry.not_told(where=where, reason=f"{MOST_WAITING} notices are waiting", tries=0)

    def _spread(self, owner: Owner, at: float, fields: JsonObject) -> None:
        """Send a notice of this event to each recipient."""
        try:
            queues, url = self._queues.get(), self._url()
        except LociError as error:
            self._telemetry.not_told(where=NAME, reason=str(error), tries=0)
            return
        notice = notice_of(f"msg_{random_id(24)}", owner, at, fields, url)
        for messenger, queue in queues:
            self._begin(queue, partial(self._deliver, messenger, notice), messenger.where)

    def _deliver(self, messenger: Messenger, notice: Notice) -> None:
        for number, pause in enumerate((*PAUSES, None), 1):
            delivery = messenger.send(notice)
            if isinstance(delivery, Delivered):
                self._note_end(messenger, None)
                return
            if pause is None or delivery.is_final or (self._ending.is_set() and number > 1):
                self._note_end(messenger, delivery.why)
                self._telemetry.not_told(where=messenger.where, reason=delivery.why, tries=number)
                return
            self._ending.wait(max(pause, min(delivery.after, LONGEST_PAUSE)))

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

    def _note_pages(self) -> None:
        with suppress(LociError):  # a notice has no address then
            record = self._records.get(SYSTEM, SENT, PAGES)
            if record is None or record.value.get("url") != self._base_url:
                self._records.put(SYSTEM, SENT, PAGES, {"url": self._base_url})
