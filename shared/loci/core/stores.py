"""The ports of the stores: records, blobs, locks for writers and secrets; and slots, which are records that expire."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar, cast

from loci.core.errors import Conflict, LociError, Refused
from loci.core.full_disk import freeing
from loci.core.identity import Owner
from loci.core.json import JsonObject

T = TypeVar("T")

LONGEST_KEY = 512
ABSENT: Final = ""
"""The expected version of a record that may not exist yet."""
ATTEMPTS: Final = 50
"""Whenever one writer loses the race, another has won it. So this is the most that may change a record at once."""
NAMED_BY_HASH: Final = re.compile(r"files/[^/]+/([0-9a-f]{64})")
"""The keys of the contents of files."""
CONTENT_DAMAGED: Final = "CONTENT_DAMAGED"
OWNER_KEY: Final = re.compile(r"[0-9a-f]{32}")
"""The key of an owner, as a store's folder has it."""


@dataclass(frozen=True, slots=True)
class Record:
    """A small stored document under a key. Each write gives it a new version."""

    key: str
    value: JsonObject
    version: str
    expires_at: float | None = None
    is_damaged: bool = False
    """True: what is stored is no JSON object. The value is empty then."""


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Records in the order of their keys, and where the next page starts (None: this is the last page)."""

    records: tuple[Record, ...]
    next: str | None


def checked_key(key: str) -> str:
    """Return the key if every store can hold it, else raise `Refused`."""
    try:
        size = len(key.encode("utf-8"))
    except UnicodeEncodeError:
        raise Refused(
            "The key holds half of a surrogate pair", "Use text that UTF-8 can encode", code="BAD_KEY"
        ) from None
    if not 0 < size <= LONGEST_KEY:
        raise Refused(f"A key has 1 to {LONGEST_KEY} bytes, this one has {size}", "Use a shorter key", code="BAD_KEY")
    return key


def lost_race(kind: str) -> Conflict:
    """Return the error of a write that expected another version."""
    return Conflict(f"Somebody else wrote this {kind} first", "Read it again, then decide")


def stored_record(key: str, text: str | bytes, version: str, expires_at: float | None) -> Record:
    """Return the record that a store holds as this JSON."""
    try:
        value: object = json.loads(text if isinstance(text, str) else text.decode())
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return Record(key, {}, version, expires_at, is_damaged=True)
    return Record(key, cast("JsonObject", value), version, expires_at)


def read_or_none(record: Record | None, read: Callable[[Record], T]) -> T | None:
    """Return what `read` makes of the record. None without a record, or if another program wrote it."""
    if record is None or record.is_damaged:
        return None
    try:
        return read(record)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None


def readable(records: Iterable[Record], read: Callable[[Record], T]) -> Iterator[T]:
    """Yield what `read` makes of each record, without unreadable records: `loci doctor` names them."""
    for record in records:
        value = read_or_none(record, read)
        if value is not None:
            yield value


class RecordStore(Protocol):
    """Small JSON documents with compare-and-set and expiry."""

    def get(self, owner: Owner, kind: str, key: str) -> Record | None:
        """Return the record as last written, or None if it does not exist or has expired."""
        ...

    def get_all(self, owner: Owner, kind: str, keys: Sequence[str]) -> dict[str, Record]:
        """Return the records with these keys as `get` does, in few requests. Leaves out records that do not exist.

        A record whose value is lost is marked as damaged: it does not hide the others.
        """
        ...

    def put(
        self,
        owner: Owner,
        kind: str,
        key: str,
        value: JsonObject,
        *,
        expect_version: str | None = None,
        expires_at: float | None = None,
        durable: bool = True,
    ) -> Record:
        """Write the record and return it with its new version.

        With `expect_version`, write only over that version (`ABSENT`: only if no record exists); otherwise raise
        `Conflict` and change nothing. Without it, replace whatever is there.
        A write that is not `durable` survives a killed process, but perhaps not a power cut.
        """
        ...

    def remove(
        self, owner: Owner, kind: str, key: str, *, expect_version: str | None = None, durable: bool = True
    ) -> bool:
        """Remove the record; return True if it existed. `expect_version` and `durable` work as in `put`."""
        ...

    def put_keys(self, owner: Owner, kind: str, keys: Sequence[str], *, remove: Sequence[str] = ()) -> None:
        """Write empty records under these keys, and remove the others, in few requests, perhaps not all at one moment.

        They survive a killed process, but perhaps not a power cut; then no later write survives it, either.
        """
        ...

    def remove_versions(self, owner: Owner, kind: str, versions: Mapping[str, str]) -> list[str]:
        """Remove the records that still have these versions, by their keys, and return the keys of those removed.

        It takes few writes where the store can do that. A power cut may bring them back.
        """
        ...

    def owner_keys(self) -> list[str]:
        """Return the keys of all owners who have records, sorted. A store may have to read all of itself."""
        ...

    def remove_all(self, owner: Owner) -> int:
        """Remove the owner's records of every kind, expired ones too, and return their number.

        Blobs of the owner that a store made for large values stay: `BlobStore.remove_all` removes them.
        """
        ...

    def list(
        self, owner: Owner, kind: str, *, prefix: str = "", limit: int = 100, after: str | None = None
    ) -> RecordPage:
        """Return the records whose keys begin with `prefix`, in key order, starting behind `after`."""
        ...


def every(records: RecordStore, owner: Owner, kind: str, prefix: str = "") -> Iterator[Record]:
    """Yield all records of a kind whose keys begin so, fetched page by page."""
    after: str | None = None
    while True:
        page = records.list(owner, kind, prefix=prefix, limit=500, after=after)
        yield from page.records
        after = page.next
        if after is None:
            return


def update(
    records: RecordStore,
    owner: Owner,
    kind: str,
    key: str,
    change: Callable[[Record | None], JsonObject | None],
    *,
    expires_at: float | None = None,
    durable: bool = True,
) -> Record | None:
    """Write what `change` makes of the record as it is now, and return it. If `change` returns None, nothing changes.

    `change` is called again if somebody else was faster. Raises `Conflict` if that happens again and again.
    """
    for _ in range(ATTEMPTS):
        held = records.get(owner, kind, key)
        value = change(held)
        if value is None:
            return None
        version = held.version if held else ABSENT
        with suppress(Conflict):
            return records.put(owner, kind, key, value, expect_version=version, expires_at=expires_at, durable=durable)
    raise lost_race(kind)


def verified_content(key: str, content: bytes) -> bytes:
    """Return the content of the blob. Raises `Refused` if its key names the hash of another one."""
    named = NAMED_BY_HASH.fullmatch(key)
    if named and hashlib.sha256(content).hexdigest() != named[1]:
        what = f"The stored content {key} is damaged: it is not what was written"
        raise Refused(what, "Add the file again, or restore it from a backup", code=CONTENT_DAMAGED)
    return content


class BlobStore(Protocol):
    """Bytes under a key. Readers see a write whole or not at all."""

    def read(self, owner: Owner, key: str) -> bytes:
        """Return the bytes as last written; raise `NotFound` if nothing was written."""
        ...

    def write(self, owner: Owner, key: str, content: bytes, *, durable: bool = True) -> None:
        """Store the bytes. If not `durable`, they survive a killed process, but perhaps not a power cut."""
        ...

    def remove(self, owner: Owner, key: str) -> None:
        """Remove the bytes; no error if there were none."""
        ...

    def owner_keys(self) -> list[str]:
        """Return the keys of all owners who have blobs, sorted. Of some all blobs may be gone."""
        ...

    def list(self, owner: Owner, prefix: str = "") -> list[str]:
        """Return the keys that begin with `prefix`, sorted."""
        ...

    def remove_all(self, owner: Owner) -> int:
        """Remove all blobs of the owner, with the earlier versions that the store keeps, and return their number."""
        ...

    def link(self, owner: Owner, key: str, seconds: int, name: str | None = None) -> str:
        """Return a URL that gives the bytes to its holder, for this many seconds.

        The download has this name; without one, that of the key's last part.
        """
        ...


class WriteLocks(Protocol):
    """Locks that let one writer at a time work, across all processes that use the stores."""

    def take(self, owner: Owner, name: str, seconds: float) -> AbstractContextManager[bool]:
        """Wait at most that many seconds for the lock; True if it was taken.

        It is released at the end of the block, or some time after its process died.
        """
        ...


@dataclass(frozen=True, slots=True)
class LinkedContent:
    """The content behind a local link."""

    name: str
    content: bytes


class LocalLinks(Protocol):
    """The local server's side of `BlobStore.link`."""

    def follow(self, token: str) -> LinkedContent:
        """Return the content; raise `NotFound` if the link expired, was tampered with, or leads nowhere."""
        ...


class SecretUnreadable(LociError):
    """A stored secret cannot be opened: it is another owner's, or its key is gone."""

    default_code = "SECRET_UNREADABLE"


class SecretBox(Protocol):
    """Closes texts. What was closed for one owner does not open for another."""

    def close(self, owner: Owner, text: str) -> str:
        """Return the text, encrypted, in letters that JSON can hold."""
        ...

    def open(self, owner: Owner, closed: str) -> str:
        """Return the text. Raises `SecretUnreadable` unless a key that is still known closed it for this owner."""
        ...


class Slots:
    """An owner's slots. What holds one and dies holds it only until it expires."""

    def __init__(
        self, records: RecordStore, kind: str, most: int, full: Callable[[int], LociError], *, durable: bool = True
    ) -> None:
        """`full` makes the error for an owner who has no free slot. `durable`: as for a record."""
        self._records = records
        self._kind = kind
        self._most = most
        self._full = full
        self._durable = durable

    def held(self, owner: Owner) -> list[Record]:
        """The slots that are taken."""
        return [*every(self._records, owner, self._kind)]

    def take(self, owner: Owner, until: float, value: JsonObject | None = None) -> Record:
        """Take a free slot. Raises the error if the owner has none: two never get the same one."""
        taken = {slot.key for slot in self.held(owner)}
        for key in (f"{number:03}" for number in range(self._most)):
            if key not in taken:
                try:
                    return self._records.put(
                        owner,
                        self._kind,
                        key,
                        value or {},
                        expect_version=ABSENT,
                        expires_at=until,
                        durable=self._durable,
                    )
                except Conflict:  # somebody else was faster
                    continue
        raise self._full(self._most)

    @freeing()
    def give_back(self, owner: Owner, key: str, version: str) -> None:
        """Free the slot, unless something else has it by now."""
        try:
            self._records.remove(owner, self._kind, key, expect_version=version, durable=self._durable)
        except Conflict:
            return
