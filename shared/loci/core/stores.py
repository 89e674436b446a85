"""Where things are kept."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from loci.core.errors import Conflict
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.records import Record, RecordPage

ABSENT: Final = ""
"""As an expected version: there must be no such record yet."""


def lost_race(kind: str) -> Conflict:
    """What a write raises that expected another version."""
    return Conflict(f"Somebody else wrote this {kind} first", "Read it again, then decide")


class RecordStore(Protocol):
    """Small JSON documents with compare-and-set and expiry."""

    def get(self, owner: Owner, kind: str, key: str) -> Record | None:
        """The record as last written, or None where there is none or it has expired."""
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
        """Write it, and get it back with its new version.

        With `expect_version` the write happens only over that version (`ABSENT`: only where nothing is);
        otherwise `Conflict` is raised and nothing has changed. Without it, whatever was there is replaced.
        A write that is not `durable` survives a killed process, too, but perhaps not a power cut.
        """
        ...

    def remove(self, owner: Owner, kind: str, key: str, *, expect_version: str | None = None) -> bool:
        """Take it out; True where it was there. `expect_version` as in `put`."""
        ...

    def list(
        self, owner: Owner, kind: str, *, prefix: str = "", limit: int = 100, after: str | None = None
    ) -> RecordPage:
        """The records whose keys begin with `prefix`, by key, from the one behind `after` on."""
        ...


def every(records: RecordStore, owner: Owner, kind: str) -> Iterator[Record]:
    """All records of a kind, page by page."""
    after: str | None = None
    while True:
        page = records.list(owner, kind, limit=500, after=after)
        yield from page.records
        after = page.next
        if after is None:
            return


class BlobStore(Protocol):
    """Bytes under a key: a write is seen whole or not at all."""

    def read(self, owner: Owner, key: str) -> bytes:
        """The bytes as last written; `NotFound` where there are none."""
        ...

    def write(self, owner: Owner, key: str, content: bytes, *, durable: bool = True) -> None:
        """Put the bytes there. If not `durable`, they survive a killed process, too, but perhaps not a power cut."""
        ...

    def remove(self, owner: Owner, key: str) -> None:
        """Take it out; no error where it was not there."""
        ...

    def list(self, owner: Owner, prefix: str = "") -> list[str]:
        """The keys that begin with `prefix`, sorted."""
        ...

    def link(self, owner: Owner, key: str, seconds: int) -> str:
        """A URL that gives the bytes to whoever holds it, for so long."""
        ...


class WriteLocks(Protocol):
    """One writer at a time, of all processes that use the stores."""

    def take(self, owner: Owner, name: str, seconds: float) -> AbstractContextManager[bool]:
        """Whether the turn came within so many seconds. It is over with the block, or a while after its process."""
        ...


@dataclass(frozen=True, slots=True)
class Linked:
    """What a local link leads to."""

    name: str
    content: bytes


class LocalLinks(Protocol):
    """The local server's side of `BlobStore.link`."""

    def follow(self, token: str) -> Linked:
        """What the link leads to; `NotFound` where it has expired, was tampered with, or leads nowhere."""
        ...
