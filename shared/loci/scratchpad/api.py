"""The scratchpad: keeps results that are too large for an answer, whole, to be read piece by piece."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from loci.core.errors import Conflict, LociError, NotFound, Unavailable
from loci.core.identity import Owner
from loci.core.ids import content_id, random_id
from loci.core.json import JsonObject, iso
from loci.core.stores import BlobStore, Record, RecordStore, every

KIND = "scratchpad"
PROMISED = "scratchpad-promised"
REMEMBERED = 24 * 3600.0
"""Seconds after which a promised entry that never came is forgotten."""
CAPACITY = 10 * 1024 * 1024
LOOKS = 16
"""How often the entries are counted while the capacity fills: other servers may keep entries of the same owner."""
ID = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class ScratchpadEntry:
    id: str
    tool: str
    size_bytes: int
    timestamp: str


@dataclass(frozen=True, slots=True)
class Slice:
    """Part of an entry, in characters."""

    text: str
    offset: int
    total: int

    @property
    def next_offset(self) -> int | None:
        end = self.offset + len(self.text)
        return end if end < self.total else None


class Scratchpad:
    """The entries of each owner. The least recently used make room for new ones."""

    def __init__(
        self, records: RecordStore, blobs: BlobStore, clock: Callable[[], float], capacity: int = CAPACITY
    ) -> None:
        self._records = records
        self._blobs = blobs
        self._clock = clock
        self.capacity = capacity
        self._room: dict[str, int] = {}  # of each owner: bytes until the next look

    def promise(self, owner: Owner, tool: str, seconds: float) -> str:
        """Promise an entry and return its id. Until it comes, or the seconds are over, it reads as not ready."""
        id = random_id(12)
        now = self._clock()
        value: JsonObject = {"tool": tool, "due_at": now + seconds}
        self._records.put(owner, PROMISED, id, value, expires_at=now + seconds + REMEMBERED, durable=False)
        return id

    def keep(self, owner: Owner, tool: str, text: str, id: str | None = None) -> ScratchpadEntry:
        """Keep the text. A power cut may lose it.

        The same text of the same tool gets the same id, unless an id was promised.
        """
        raw = text.encode("utf-8", "replace")
        now = self._clock()
        entry = ScratchpadEntry(id or content_id(tool, text), tool, len(raw), iso(now))
        self._blobs.write(owner, _blob(entry.id), raw, durable=False)
        self._records.put(
            owner,
            KIND,
            entry.id,
            {"tool": tool, "size_bytes": len(raw), "kept_at": now, "used_at": now},
            durable=False,
        )
        if id is not None:
            self._records.remove(owner, PROMISED, id)
        room = self._room.get(owner.key, 0) - len(raw)
        self._room[owner.key] = room if room >= 0 else self._made_room(owner, keeping=entry.id)
        return entry

    def read(self, owner: Owner, id: str, offset: int = 0, limit: int | None = None) -> Slice:
        """Read at most `limit` characters from `offset` on."""
        record = self._records.get(owner, KIND, id) if ID.fullmatch(id) else None
        if record is None:
            raise self._absent(owner, id)
        text = self._text(owner, record)
        self._touch(owner, record)
        return Slice(text[offset : None if limit is None else offset + limit], min(offset, len(text)), len(text))

    def list(self, owner: Owner) -> list[ScratchpadEntry]:
        """All entries, newest first."""
        records = sorted(every(self._records, owner, KIND), key=lambda record: _moment(record, "kept_at"), reverse=True)
        return [_entry(record) for record in records]

    def _absent(self, owner: Owner, id: str) -> LociError:
        promised = self._records.get(owner, PROMISED, id) if ID.fullmatch(id) else None
        if promised is None:
            return _missing(id)
        if self._clock() < _moment(promised, "due_at"):
            advice = f"Call scratchpad_read('{id}') again in some seconds"
            return Unavailable("The result is not ready yet", advice, code="STILL_RUNNING")
        advice = "Call the tool again"
        return NotFound("The result never came: the server stopped while it was made", advice, code="RUN_LOST")

    def _text(self, owner: Owner, record: Record) -> str:
        try:
            raw = self._blobs.read(owner, _blob(record.key))
        except NotFound:
            raw = b""
        if len(raw) == _size(record):
            return raw.decode()
        with suppress(Conflict):  # somebody kept it again meanwhile
            self._records.remove(owner, KIND, record.key, expect_version=record.version)
        raise _missing(record.key)

    def _touch(self, owner: Owner, record: Record) -> None:
        value = record.value | {"used_at": self._clock()}
        # Somebody else used it at this moment, or it was just removed, or the store is too busy.
        with suppress(Conflict, Unavailable):
            self._records.put(owner, KIND, record.key, value, expect_version=record.version, durable=False)

    def _made_room(self, owner: Owner, keeping: str) -> int:
        """Remove the least recently used entries, but never the newest: its reader was just told the id."""
        records = list(every(self._records, owner, KIND))
        room = self.capacity - sum(_size(record) for record in records)
        step = self.capacity // LOOKS
        if room >= 0:
            return min(room, step)
        for record in sorted(records, key=lambda record: _moment(record, "used_at")):
            if room >= step:
                break
            if record.key != keeping:
                self._records.remove(owner, KIND, record.key)
                self._blobs.remove(owner, _blob(record.key))
                room += _size(record)
        return step


def _blob(id: str) -> str:
    return f"{KIND}/{id}"


def _entry(record: Record) -> ScratchpadEntry:
    return ScratchpadEntry(record.key, str(record.value["tool"]), _size(record), iso(_moment(record, "kept_at")))


def _size(record: Record) -> int:
    return int(str(record.value["size_bytes"]))


def _moment(record: Record, name: str) -> float:
    return float(str(record.value[name]))


def _missing(id: str) -> NotFound:
    return NotFound(
        f"Scratchpad entry not found: {id}",
        "Use scratchpad_list() to find valid entries",
        code="SCRATCHPAD_NOT_FOUND",
    )
