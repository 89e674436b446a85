"""The variables of executors, as bytes: written in pieces, found again whole or not at all."""

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from loci.code.executors import LostVariable
from loci.core.errors import LociError, NotFound
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.core.stores import BlobStore, RecordStore

KIND = "executor-state"
BLOBS = "executors/"
"""What the keys of all executors' blobs begin with."""
PIECE = 16 << 20
MOST_NAMES = 1000
"""Told by name."""


@dataclass(frozen=True, slots=True)
class VariablesSnapshot:
    """What was saved last. Its content has never been more than bytes here."""

    generation: str
    pieces: tuple[str, ...]
    """The hashes of their content, in order."""
    size: int
    kept: tuple[str, ...]
    lost: tuple[LostVariable, ...]


class Snapshots:
    """One a executor: the last that was written whole."""

    def __init__(self, records: RecordStore, blobs: BlobStore, clock: Callable[[], float]) -> None:
        self._records = records
        self._blobs = blobs
        self._clock = clock

    def last(self, owner: Owner, id: str) -> VariablesSnapshot | None:
        """What was saved last, if anything was."""
        record = self._records.get(owner, KIND, id)
        return None if record is None else snapshot_of(record.value)

    def read(self, owner: Owner, id: str, snapshot: VariablesSnapshot) -> Iterator[bytes]:
        """Its content, piece by piece; `NotFound` where a piece is gone or is another than was written."""
        for number, digest in enumerate(snapshot.pieces):
            content = self._blobs.read(owner, piece_key(id, snapshot.generation, number))
            if hashlib.sha256(content).hexdigest() != digest:
                raise NotFound("A saved state is damaged", "Compute it again", code="STATE_RESTORE_FAILED")
            yield content

    def writing(self, owner: Owner, id: str) -> "Writing":
        """A new one. Until it is done the last one stays."""
        return Writing(self._blobs, owner, id)

    def done(
        self, writing: "Writing", kept: Sequence[str], lost: Sequence[LostVariable], expires_at: float
    ) -> VariablesSnapshot:
        """From now on this is the last one. If that fails, nothing of it stays and the last one does: `LociError`."""
        try:
            snapshot, before = writing.whole(kept, lost), self.last(writing.owner, writing.id)
            value = {**told(snapshot), "saved_at": self._clock()}
            self._records.put(writing.owner, KIND, writing.id, value, expires_at=expires_at, durable=False)
        except LociError:
            with suppress(LociError):
                self.abandon(writing)
            raise
        if before is not None:
            with suppress(LociError):  # it is removed with the executor
                self._drop(writing.owner, writing.id, before.generation, len(before.pieces))
        return snapshot

    def remove(self, owner: Owner, id: str) -> None:
        """Nothing of it is kept, nor of one that a crash has left half written."""
        self._records.remove(owner, KIND, id)
        for key in self._blobs.list(owner, blobs_of(id)):
            self._blobs.remove(owner, key)

    def abandon(self, writing: "Writing") -> None:
        """It is not wanted after all."""
        self._drop(writing.owner, writing.id, writing.generation, writing.pieces)

    def _drop(self, owner: Owner, id: str, generation: str, pieces: int) -> None:
        for number in range(pieces):
            self._blobs.remove(owner, piece_key(id, generation, number))


class Writing:
    """A snapshot that is being written. Once a piece cannot be written, no later one counts."""

    def __init__(self, blobs: BlobStore, owner: Owner, id: str) -> None:
        self.owner = owner
        self.id = id
        self.generation = secrets.token_hex(8)
        self._blobs = blobs
        self._held = bytearray()
        self._hashes: list[str] = []
        self._size = 0
        self._failure: LociError | None = None

    @property
    def pieces(self) -> int:
        return len(self._hashes)

    def take(self, content: bytes) -> None:
        """The next bytes. It never raises: the executor has to say all of it."""
        if self._failure is not None:
            return
        self._held += content
        self._size += len(content)
        if len(self._held) >= PIECE:
            self._write()

    def whole(self, kept: Sequence[str], lost: Sequence[LostVariable]) -> VariablesSnapshot:
        """What was written, once all of it is; the `LociError` of the piece that could not be."""
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


def blobs_of(id: str) -> str:
    """What the keys of an executor's blobs begin with."""
    return f"{BLOBS}{id}/"


def id_of(key: str) -> str:
    """The executor whose blob it is."""
    return key.removeprefix(BLOBS).partition("/")[0]


def piece_key(id: str, generation: str, number: int) -> str:
    """The blob that a piece is."""
    return f"{blobs_of(id)}{generation}/{number:04}"


def told(snapshot: VariablesSnapshot) -> JsonObject:
    """The snapshot as a record has it."""
    return {
        "generation": snapshot.generation,
        "pieces": list[Json](snapshot.pieces),
        "size": snapshot.size,
        "kept": list[Json](snapshot.kept[:MOST_NAMES]),
        "lost": [{"name": one.name, "reason": one.reason} for one in snapshot.lost[:MOST_NAMES]],
    }


def snapshot_of(value: JsonObject) -> VariablesSnapshot:
    """The snapshot as it was told."""
    lost = cast("list[dict[str, str]]", value["lost"])
    return VariablesSnapshot(
        str(value["generation"]),
        tuple(cast("list[str]", value["pieces"])),
        int(str(value["size"])),
        tuple(cast("list[str]", value["kept"])),
        tuple(LostVariable(one["name"], one["reason"]) for one in lost),
    )
