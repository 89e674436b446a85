"""Trust: who wrote a text, and which texts of others the session of its writer had read by then.

A session is a client's session, this process over stdio, or, where a revision has no sessions, a client with its
credential within a day. What another session of the same credential read within the last hour counts, too: a client may
begin a new session in the middle of its work, or have a part of the work done in another.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, cast

from loci.core.errors import LociError, Unavailable
from loci.core.identity import Caller, one_line
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject
from loci.core.stores import Record, RecordStore, read_or_none, update

Trust = Literal["own", "foreign"]
"""own: the owner, or a session that had read only texts of the owner. foreign: texts of others may be in it."""
KIND: Final = "reading"
MOST: Final = 20
"""Sources that are kept of a session, or of a text."""
MORE: Final = "and more"
LONGEST: Final = 100
"""Characters of the name of a source."""
SESSION_SECONDS: Final = 30 * 24 * 3600.0
CLIENT_SECONDS: Final = 24 * 3600.0
OTHERS_SECONDS: Final = 3600.0
RENEWED_SECONDS: Final = 300.0
"""Seconds after which the time of the last reading is written again."""
MOST_KNOWN: Final = 1000
NoteReading = Callable[[Caller, Iterable[str]], None]
"""Notes that a caller gets texts of others from these sources, before they get them."""
_SEEN: ContextVar[dict[str, None] | None] = ContextVar("loci.seen", default=None)


def saw(sources: Iterable[str]) -> None:
    """Note that the answer under way has texts of others: from these tool servers, notes or files."""
    seen = _SEEN.get()
    if seen is not None:
        seen.update(dict.fromkeys(sources))


def seen_now() -> tuple[str, ...] | None:
    """The sources that were noted for the answer under way; None if none is."""
    seen = _SEEN.get()
    return None if seen is None else tuple(seen)


@contextmanager
def gathered() -> Generator[dict[str, None]]:
    """Gather the sources that are noted until the end of the block; the block around it gets them, too."""
    outer, seen = _SEEN.get(), dict[str, None]()
    token = _SEEN.set(seen)
    try:
        yield seen
    finally:
        _SEEN.reset(token)
        if outer is not None:
            outer.update(seen)


@contextmanager
def unnoted() -> Generator[None]:
    """Keep no note of what the block reads: the one who tells of it notes it in other words."""
    token = _SEEN.set(None)
    try:
        yield
    finally:
        _SEEN.reset(token)


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a text: its writer, and what the writer's session had read of others by then."""

    sources: tuple[str, ...] = ()
    """The tool servers, notes and files; empty if it had read only texts of the owner."""
    client: str = ""
    session: str = ""
    by: str = ""
    """How the writer was recognised: `local`, or `key` with its name."""

    @property
    def trust(self) -> Trust:
        return "foreign" if self.sources else "own"

    def with_sources(self, more: Iterable[str]) -> "Origin":
        """The same writer, who had also read these."""
        return Origin(few([*self.sources, *more]), self.client, self.session, self.by)

    def lineage(self) -> JsonObject | None:
        """The origin for the version of a file, if it may have texts of others."""
        return {"origin": self.as_json()} if self.sources else None

    def as_json(self) -> JsonObject:
        """The origin as a record holds it."""
        told = {"client": self.client, "session": self.session, "by": self.by}
        sources: list[Json] = [*self.sources]
        return {"trust": self.trust, "sources": sources, **{name: one for name, one in told.items() if one}}

    @staticmethod
    def from_json(value: object) -> "Origin | None":
        """The origin of such a record; None if the value is another."""
        if not isinstance(value, dict):
            return None
        told = cast("dict[str, object]", value)
        trust, sources = told.get("trust"), told.get("sources")
        if trust not in ("own", "foreign") or not isinstance(sources, list):
            return None
        names = few(str(one) for one in cast("list[object]", sources))
        names = names or (("unknown",) if trust == "foreign" else ())
        client, session, by = (str(told.get(one, "")) for one in ("client", "session", "by"))
        return Origin(names, client, session, by)


def few(sources: Iterable[str]) -> tuple[str, ...]:
    """The names of sources as they are kept: each once and short, and not too many."""
    names = dict.fromkeys(one_line(one[:LONGEST]) or "unknown" for one in sources)
    first = [one for one in names if one != MORE]
    return tuple(first) if len(first) <= MOST and MORE not in names else (*first[:MOST], MORE)


def in_short(sources: Sequence[str]) -> str:
    """The sources for a reader who has little room."""
    return ", ".join(sources[:2]) + (", …" if len(sources) > 2 else "")


class Readings:
    """Keeps what each session has read of others. A session that reads only texts of the owner costs nothing."""

    def __init__(self, records: RecordStore, clock: Callable[[], float] = time.time) -> None:
        self._records = records
        self._clock = clock
        self._turn = threading.Lock()
        self._known: dict[tuple[str, str], tuple[frozenset[str], float]] = {}
        """By owner and key: the sources that are written, and the time until which they need not be written again."""

    def note(self, caller: Caller, sources: Iterable[str]) -> None:
        """Note that the session gets texts of others, before it gets them."""
        names = few(sources)
        if not names:
            return
        saw(names)
        try:
            for key, seconds in _keys(caller):
                self._add(caller, key, seconds, names)
        except LociError as error:
            what = f"It could not be noted that this answer has texts of others ({error.what})"
            raise Unavailable(what, "Try again", code=error.code) from error

    def sources(self, caller: Caller) -> tuple[str, ...]:
        """The tool servers, notes and files from which the session has texts of others; empty if it has none."""
        keys = [key for key, _ in _keys(caller)]
        found = self._records.get_all(caller.owner, KIND, keys)
        return few(one for key in keys if key in found for one in _sources(found[key]))

    def origin(self, caller: Caller) -> Origin:
        """The origin of what the session writes now."""
        by = f"{caller.proof} {one_line(caller.name)}".strip()
        return Origin(self.sources(caller), one_line(caller.client), caller.session, by)

    def _add(self, caller: Caller, key: str, seconds: float, names: Sequence[str]) -> None:
        place, now = (caller.owner.key, key), self._clock()
        known, until = self._known.get(place, (frozenset[str](), 0.0))
        if now < until and (known.issuperset(names) or MORE in known):
            return
        written = frozenset[str]()

        def change(held: Record | None) -> JsonObject:
            nonlocal written
            kept = few([*(_sources(held) if held else ()), *names])
            written = frozenset(kept)
            return {"sources": [*kept]}

        update(self._records, caller.owner, KIND, key, change, expires_at=now + seconds, durable=False)
        with self._turn:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[place] = written, now + RENEWED_SECONDS


def _keys(caller: Caller) -> list[tuple[str, float]]:
    """The keys of the session, and of all sessions with its credential, each with the seconds for which it counts."""
    credential = (caller.proof, caller.credential or caller.name)
    others = content_id("others", *credential, length=32), OTHERS_SECONDS
    if caller.session:
        return [(content_id("session", caller.session, length=32), SESSION_SECONDS), others]
    # The version of a client may change in the middle of a day.
    client = caller.client.partition("/")[0]
    return [(content_id("client", *credential, client, length=32), CLIENT_SECONDS), others]


def _sources(record: Record) -> tuple[str, ...]:
    """The sources of a record. Of one that is damaged, nobody knows them."""
    read = read_or_none(record, lambda one: tuple(str(each) for each in cast("list[Json]", one.value["sources"])))
    return ("unknown",) if read is None else read
