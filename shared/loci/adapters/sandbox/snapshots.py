"""Saved variables of executors, as bytes: written in pieces, and read whole or not at all."""

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from loci.adapters.sandbox.state_quota import StateQuota
from loci.code.python_run import LostVariable
from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.core.stores import BlobStore, Record, RecordStore, every, read_or_none

KIND = "executor-state"
BLOBS = "executors/"
"""The prefix of all executors' blobs."""
PIECE = 16 << 20
TOO_LARGE = "STATE_TOO_LARGE"


@dataclass(frozen=True, slots=True)
class VariablesSnapshot:
    """The variables that were saved last. Their content is never more than bytes here."""

    generation: str
    pieces: tuple[str, ...]
    """The hashes of their content, in order."""
    size: int
    kept: tuple[str, ...]
    lost: tuple[LostVariable, ...]


class Snapshots:
    """One snapshot for each executor: the last that was written whole."""

    def __init__(
        self, records: RecordStore, blobs: BlobStore, clock: Callable[[], float], quota: StateQuota | None = None
    ) -> None:
        self._records = records
        self._blobs = blobs
        self._clock = clock
        self._quota = quota or StateQuota()

    def last(self, owner: Owner, id: str) -> VariablesSnapshot | None:
        """The last snapshot, if there is one."""
        return read_or_none(self._records.get(owner, KIND, id), lambda one: snapshot_from_json(one.value))

    def read(self, owner: Owner, id: str, snapshot: VariablesSnapshot) -> Iterator[bytes]:
        """Its content, piece by piece; `NotFound` if a piece is gone or has changed."""
        for number, digest in enumerate(snapshot.pieces):
            content = self._blobs.read(owner, piece_key(id, snapshot.generation, number))
            if hashlib.sha256(content).hexdigest() != digest:
                raise NotFound("A saved state is damaged", "Compute it again", code="STATE_RESTORE_FAILED")
            yield content

    def writer(self, owner: Owner, id: str) -> "SnapshotWriter":
        """Begin a new one, which is then finished or abandoned. Until it is finished the last one stays."""
        saved = {one.key: read_or_none(one, _size) or 0 for one in every(self._records, owner, KIND)}
        return SnapshotWriter(self._blobs, self._quota, owner, id, self._quota.begin(owner, id, saved))

    def finish(
        self, writer: "SnapshotWriter", kept: Sequence[str], lost: Sequence[LostVariable], expires_at: float
    ) -> VariablesSnapshot:
        """Make this the last one. If that fails with a `LociError`, it is removed, and the last one stays."""
        try:
            snapshot, before = writer.whole(kept, lost), self.last(writer.owner, writer.id)
            value = {**snapshot_to_json(snapshot), "saved_at": self._clock()}
            self._records.put(writer.owner, KIND, writer.id, value, expires_at=expires_at, durable=False)
        except LociError:
            self.abandon(writer)
            raise
        writer.end(snapshot.size)
        if before is not None:
            with suppress(LociError):  # what stays is removed with the executor
                self._drop(writer.owner, writer.id, before.generation, len(before.pieces))
        return snapshot

    def remove(self, owner: Owner, id: str) -> None:
        """Remove it, and any other that a crash left half written."""
        self._records.remove(owner, KIND, id)
        for key in self._blobs.list(owner, blobs_of(id)):
            self._blobs.remove(owner, key)

    def abandon(self, writer: "SnapshotWriter") -> None:
        """Remove what was written. What cannot be removed now is removed with the executor."""
        with suppress(LociError):
            self._drop(writer.owner, writer.id, writer.generation, writer.pieces)
        writer.end(None)

    def _drop(self, owner: Owner, id: str, generation: str, pieces: int) -> None:
        for number in range(pieces):
            self._blobs.remove(owner, piece_key(id, generation, number))


class SnapshotWriter:
    """Writes a snapshot. Once a piece cannot be written, no later one counts."""

    def __init__(self, blobs: BlobStore, quota: StateQuota, owner: Owner, id: str, room: int) -> None:
        self.owner = owner
        self.id = id
        self.room = room - room // 8
        """Bytes of variables that the owner may still save, as it begins. Their names come on top."""
        self.generation = secrets.token_hex(8)
        self._quota = quota
        self._is_ended = False
        self._blobs = blobs
        self._held = bytearray()
        self._hashes: list[str] = []
        self._size = 0
        self._failure: LociError | None = None

    @property
    def pieces(self) -> int:
        return len(self._hashes)

    def take(self, content: bytes) -> None:
        """Take the next bytes. It never raises, since the executor must hand over all of them."""
        if self._failure is not None:
            return
        if not self._quota.take(self.owner, self.id, len(content)):
            most = self._quota.most >> 20
            what = f"your executors' saved variables together take more than {most:,} MB"
            self._failure = Refused(what, "Delete variables that are no longer needed", code=TOO_LARGE)
            self._held.clear()
            return
        self._held += content
        self._size += len(content)
        if len(self._held) >= PIECE:
            self._write()

    def end(self, size: int | None) -> None:
        """Count it no more as being written. `size` is None if it was not kept."""
        if not self._is_ended:
            self._is_ended = True
            self._quota.end(self.owner, self.id, size)

    def whole(self, kept: Sequence[str], lost: Sequence[LostVariable]) -> VariablesSnapshot:
        """Write the rest, and return the snapshot. It raises the `LociError` of a piece that could not be written."""
        if self._held:
            self._write()
        if self._failure is not None:
            raise self._failure
        return VariablesSnapshot(self.generation, tuple(self._hashes), self._size, tuple(kept), tuple(lost))

    def _write(self) -> None:
        content = bytes(self._held)
        self._held.clear()
        key = piece_key(self.id, self.generation, len(self._hashes))
        try:
            self._blobs.write(self.owner, key, content, durable=False)
        except LociError as error:
            self._failure = error
            return
        self._hashes.append(hashlib.sha256(content).hexdigest())


def _size(record: Record) -> int:
    return int(str(record.value["size"]))


def blobs_of(id: str) -> str:
    """The prefix of an executor's blobs."""
    return f"{BLOBS}{id}/"


def id_of(key: str) -> str:
    """The executor that a blob belongs to."""
    return key.removeprefix(BLOBS).partition("/")[0]


def piece_key(id: str, generation: str, number: int) -> str:
    """The blob of a piece."""
    return f"{blobs_of(id)}{generation}/{number:04}"


def snapshot_to_json(snapshot: VariablesSnapshot) -> JsonObject:
    """The snapshot, for a record."""
    return {
        "generation": snapshot.generation,
        "pieces": list[Json](snapshot.pieces),
        "size": snapshot.size,
        "kept": list[Json](snapshot.kept),
        "lost": [{"name": one.name, "reason": one.reason} for one in snapshot.lost],
    }


def snapshot_from_json(value: JsonObject) -> VariablesSnapshot:
    """The snapshot that a record holds."""
    lost = cast("list[dict[str, str]]", value["lost"])
    return VariablesSnapshot(
        str(value["generation"]),
        tuple(cast("list[str]", value["pieces"])),
        int(str(value["size"])),
        tuple(cast("list[str]", value["kept"])),
        tuple(LostVariable(one["name"], one["reason"]) for one in lost),
    )
