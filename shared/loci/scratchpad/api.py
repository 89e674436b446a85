"""The scratchpad: keeps results that are too large for an answer, whole, to be read piece by piece."""

import hashlib
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from heapq import nlargest
from mimetypes import guess_extension

from loci.core.background import BackgroundQueue
from loci.core.errors import Conflict, LociError, NotFound, Unavailable
from loci.core.identity import Owner
from loci.core.ids import content_id, random_id
from loci.core.json import JsonObject, iso, string
from loci.core.scopes import READS
from loci.core.stores import ABSENT, BlobStore, Record, RecordStore, every, lost_race, read_or_none, readable
from loci.core.trust import saw, seen_now

KIND = "scratchpad"
PROMISED = "scratchpad-promised"
REMEMBERED = 24 * 3600.0
"""Seconds after which a promised entry that never came is forgotten."""
CAPACITY = 10 * 1024 * 1024
MOST_ENTRIES = 10_000
"""Entries of an owner: each takes at least this part of the capacity."""
TRIES = 5
"""The number of attempts to write or read an entry that others write at the same time."""
LOOKS = 16
"""The entries are counted so often while the capacity fills: other servers may keep entries of the same owner."""
ID = re.compile(r"[0-9a-f]{12}")
LINK_SECONDS = 3600
LATEST = datetime.max.replace(tzinfo=UTC).timestamp()


@dataclass(frozen=True, slots=True)
class ScratchpadEntry:
    id: str
    tool: str
    about: str
    """The question or the arguments of the call, shortened."""
    size_bytes: int
    kept_at: float
    scopes: frozenset[str]
    """The scopes that a client with a grant needs to read it: the scopes of its tool, or all scopes that read."""
    media_type: str = ""
    """The media type of an image or another file; empty if the entry is a text."""

    @property
    def timestamp(self) -> str:
        """The time when it was kept, UTC."""
        return iso(self.kept_at)


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest entries, and what there is in all."""

    entries: tuple[ScratchpadEntry, ...]
    total_entries: int
    total_size_bytes: int


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
    """The entries of each owner. New ones replace the least recently used."""

    def __init__(
        self,
        records: RecordStore,
        blobs: BlobStore,
        clock: Callable[[], float],
        capacity: int = CAPACITY,
        later: BackgroundQueue | None = None,
    ) -> None:
        """`later`: makes room behind the answer. Without it, room is made before: a Lambda function stops then."""
        self._records = records
        self._blobs = blobs
        self._clock = clock
        self.capacity = capacity
        self._later = later
        self._room: dict[str, int] = {}  # of each owner: bytes until the next look
        self._fresh: dict[str, set[str]] = {}  # of each owner: the ids that were kept since the last look

    def close(self) -> None:
        """Make the room that is still to be made."""
        if self._later:
            self._later.finish()

    def promise(self, owner: Owner, tool: str, seconds: float) -> str:
        """Promise an entry and return its id. Until it comes, or the seconds are over, it reads as not ready."""
        id = random_id(12)
        now = self._clock()
        value: JsonObject = {"tool": tool, "due_at": now + seconds}
        self._records.put(owner, PROMISED, id, value, expires_at=now + seconds + REMEMBERED, durable=False)
        return id

    def keep(
        self,
        owner: Owner,
        tool: str,
        text: str,
        id: str | None = None,
        *,
        about: str = "",
        call: str | None = None,
        scopes: Iterable[str] = READS,
        beside: Iterable[str] = (),
    ) -> ScratchpadEntry:
        """Keep the text. A power cut may lose it. Clients need the scopes to read it.

        The same text of the same tool gets the same id, unless an id was promised. With `call`, the same call of the
        same tool does: its newest result takes the place of the earlier one. `beside`: the ids of other entries of the
        same answer, which make no room for it.
        """
        own_id = content_id(tool, text) if call is None else content_id(tool, "call", call)
        entry = ScratchpadEntry(id or own_id, tool, about, 0, 0.0, frozenset(scopes))
        kept = self._keep(owner, entry, text.encode("utf-8", "replace"), content_id(text, length=32), beside)
        if id is not None:
            with suppress(Unavailable):  # the entry is kept, and a promise expires
                self._records.remove(owner, PROMISED, id)
        return kept

    def keep_file(
        self, owner: Owner, tool: str, content: bytes, media_type: str, *, scopes: Iterable[str] = READS
    ) -> ScratchpadEntry:
        """Keep an image or another file, as `keep` does a text. It is read by a link, which the entry's text tells."""
        digest = hashlib.sha256(content).hexdigest()[:32]
        id = content_id(tool, media_type, digest)
        entry = ScratchpadEntry(id, tool, media_type, 0, 0.0, frozenset(scopes), media_type)
        return self._keep(owner, entry, content, digest)

    def link(self, owner: Owner, id: str) -> str:
        """A URL for downloading a kept file within an hour. Raises `NotFound` if no file has this id."""
        record = self._records.get(owner, KIND, id) if ID.fullmatch(id) else None
        if record is None:
            raise self._absent(owner, id)
        return self._link(owner, record)

    def _keep(
        self, owner: Owner, entry: ScratchpadEntry, raw: bytes, digest: str, beside: Iterable[str] = ()
    ) -> ScratchpadEntry:
        now = self._clock()
        value: JsonObject = {
            "tool": entry.tool,
            "about": entry.about,
            "size_bytes": len(raw),
            "hash": digest,
            "kept_at": now,
            "used_at": now,
            "scopes": [*sorted(entry.scopes)],
            **({} if (seen := seen_now()) is None else {"sources": [*seen]}),
            **({"media_type": entry.media_type} if entry.media_type else {}),
        }
        self._fresh.setdefault(owner.key, set()).update({entry.id, *beside})  # before a look can meet the record
        self._room[owner.key] = room = self._room.get(owner.key, 0) - self._put(owner, entry.id, value, raw)
        if room < 0 and self._later:
            self._later.do(partial(self._make_room, owner), owner.key)
        elif room < 0:
            with suppress(Unavailable):  # the entry is kept, and the next one makes room
                self._make_room(owner)
        return replace(entry, size_bytes=len(raw), kept_at=now)

    def read(self, owner: Owner, id: str, offset: int = 0, limit: int | None = None) -> Slice:
        """Read at most `limit` characters from `offset` on."""
        for _ in range(TRIES):
            record = self._records.get(owner, KIND, id) if ID.fullmatch(id) else None
            size = read_or_none(record, _size)
            if record is None or size is None:
                raise self._absent(owner, id)
            text = self._text(owner, record, size)
            if text is not None:
                self._touch(owner, record)
                saw(_sources(record))
                end = None if limit is None else offset + limit
                return Slice(text[offset:end], min(offset, len(text)), len(text))
        raise _missing(id)

    def scopes(self, owner: Owner, id: str) -> frozenset[str]:
        """The scopes that a client needs to read the entry; none if there is no entry."""
        found = read_or_none(self._records.get(owner, KIND, id) if ID.fullmatch(id) else None, kept_entry)
        return found.scopes if found else frozenset()

    def list(self, owner: Owner) -> list[ScratchpadEntry]:
        """All entries, newest first."""
        return list(self.newest(owner, MOST_ENTRIES * LOOKS).entries)

    def newest(self, owner: Owner, limit: int, is_shown: Callable[[ScratchpadEntry], bool] = lambda _: True) -> Newest:
        """The newest entries that are shown, newest first."""
        found = readable(every(self._records, owner, KIND), kept_entry)
        kept = [one for one in found if is_shown(one)]
        newest = nlargest(limit, kept, key=lambda one: one.kept_at)
        return Newest(tuple(newest), len(kept), sum(one.size_bytes for one in kept))

    def _put(self, owner: Owner, id: str, value: JsonObject, raw: bytes) -> int:
        """Write the text, then the record that leads to it. Returns the room that it takes on top of what it replaces.

        Each text has a blob of its own, so a reader never meets the text of one write with the record of another.
        """
        for _ in range(TRIES):
            held = self._records.get(owner, KIND, id)
            is_same = held is not None and held.value.get("hash") == value["hash"]
            value["blob"] = blob = _blob(held) if held and is_same else f"{KIND}/{id}-{random_id(8)}"
            if not is_same:
                self._blobs.write(owner, blob, raw, durable=False)
            try:
                version = held.version if held else ABSENT
                self._records.put(owner, KIND, id, value, expect_version=version, durable=False)
            except LociError as error:
                if not is_same:
                    with suppress(Unavailable):
                        self._blobs.remove(owner, blob)
                if isinstance(error, Conflict):
                    continue
                raise
            if held is None:
                return self._charge(len(raw))
            if not is_same:
                with suppress(Unavailable):
                    self._blobs.remove(owner, _blob(held))
            return self._charge(len(raw)) - self._charge(read_or_none(held, _size) or 0)
        raise lost_race("scratchpad entry")

    def _absent(self, owner: Owner, id: str) -> LociError:
        promised = self._records.get(owner, PROMISED, id) if ID.fullmatch(id) else None
        due_at = read_or_none(promised, promised_until)
        if due_at is None:
            return _missing(id)
        if self._clock() < due_at:
            advice = f"Call scratchpad_read('{id}') again in some seconds"
            return Unavailable("The result is not ready yet", advice, code="STILL_RUNNING")
        advice = "Call the tool again"
        return NotFound("The result never came: the server stopped while it was made", advice, code="RUN_LOST")

    def _text(self, owner: Owner, record: Record, size: int) -> str | None:
        """The entry's text. None if it is gone: then its record goes, too, unless somebody has just kept it again."""
        try:
            if media_type := record.value.get("media_type"):
                return f"{media_type}, {size:,} bytes. Download it within an hour: {self._link(owner, record)}"
            raw = self._blobs.read(owner, _blob(record))
        except NotFound:
            raw = b""
        if len(raw) == size:
            return raw.decode()
        with suppress(Conflict):
            self._records.remove(owner, KIND, record.key, expect_version=record.version)
        return None

    def _link(self, owner: Owner, record: Record) -> str:
        ending = guess_extension(str(record.value.get("media_type"))) or ""
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", str(record.value["tool"]))
        return self._blobs.link(owner, _blob(record), LINK_SECONDS, f"{name}-{record.key}{ending}")

    def _touch(self, owner: Owner, record: Record) -> None:
        value = record.value | {"used_at": self._clock()}
        # Somebody else used it at this moment, or it was just removed, or the store is too busy.
        with suppress(Conflict, Unavailable):
            self._records.put(owner, KIND, record.key, value, expect_version=record.version, durable=False)

    def _make_room(self, owner: Owner) -> None:
        """Remove the least recently used entries, but none that was kept since the last look: a reader gets its id."""
        heads = readable(every(self._records, owner, KIND), lambda it: (_moment(it, "used_at"), _size(it), it))
        oldest = sorted(heads, key=lambda one: one[0])
        fresh = self._fresh.pop(owner.key, ())
        room, step = self.capacity - sum(self._charge(size) for _, size, _ in oldest), self.capacity // LOOKS
        self._room[owner.key] = min(room, step) if room >= 0 else step
        if room >= 0:
            return
        leaving: dict[str, Record] = {}
        for _, size, record in oldest:
            if room >= step:
                break
            if record.key not in fresh:
                leaving[record.key] = record
                room += self._charge(size)
        versions = {key: record.version for key, record in leaving.items()}
        for key in self._records.remove_versions(owner, KIND, versions):
            self._blobs.remove(owner, _blob(leaving[key]))

    def _charge(self, size: int) -> int:
        """The bytes of the capacity that an entry of that size takes."""
        return max(size, self.capacity // MOST_ENTRIES)


def _blob(record: Record) -> str:
    """The blob of the entry's text. One that was only promised has no text yet."""
    return str(record.value.get("blob", f"{KIND}/{record.key}"))


def kept_entry(record: Record) -> ScratchpadEntry:
    """The entry of a record."""
    value, kept_at = record.value, _moment(record, "kept_at")
    _moment(record, "used_at")
    about, scopes = string(value["about"]), value["scopes"]
    if not 0 <= kept_at < LATEST:
        raise ValueError("no time")
    if not isinstance(scopes, list):
        raise TypeError("no scopes")
    needed, media_type = frozenset(string(one) for one in scopes), str(value.get("media_type", ""))
    return ScratchpadEntry(record.key, string(value["tool"]), about, _size(record), kept_at, needed, media_type)


def promised_until(record: Record) -> float:
    """The time at which a promised entry was due."""
    return _moment(record, "due_at")


def _size(record: Record) -> int:
    return int(str(record.value["size_bytes"]))


def _sources(record: Record) -> list[str]:
    """The texts of others in the entry. Nobody knows them of one that was kept after its call was answered."""
    held = record.value.get("sources")
    return [str(one) for one in held] if isinstance(held, list) else [f"a late result of {record.value['tool']}"]


def _moment(record: Record, name: str) -> float:
    return float(str(record.value[name]))


def _missing(id: str) -> NotFound:
    return NotFound(
        f"Scratchpad entry not found: {id}", "Use scratchpad_list() to find valid entries", code="SCRATCHPAD_NOT_FOUND"
    )
