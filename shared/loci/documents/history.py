"""The previous texts of documents, so that writes can be undone."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import string
from loci.core.stores import BlobStore, read_or_none, stored_record
from loci.core.trust import Origin

MOST_WRITES = 20
"""Writes that are kept for each document."""
FOLDER = "history/"


@dataclass(frozen=True, slots=True)
class PastWrite:
    """A write of a tool, with the text that it replaced."""

    before: bytes | None
    """The replaced text; None if the write created the document."""
    after: str
    """The hash of the text that was written. Empty if the write removed the document."""
    at: str
    by: str
    """The tool's name."""
    move: str | None = None
    """The id of the move that it is a part of."""
    changed_ns: int | None = None
    """The time of the file's last change before the write; None if the text was in no file."""
    changed_on: str | None = None
    """The day on which the document had last changed before the write."""
    origin: Origin | None = None
    """The origin of the new text; None if nobody noted it."""
    kept: Origin | None = None
    """The origin of the replaced text, if a tool wrote that."""


@dataclass(frozen=True, slots=True)
class UndoableWrite:
    """The write that `undo` takes back next."""

    key: str
    write: PastWrite
    older: int
    """The number of earlier writes that can still be undone after this one."""


@dataclass(frozen=True, slots=True)
class History:
    """The last writes of each document, by its path. Each is one blob, so a crash never leaves half of one."""

    blobs: BlobStore

    def keep(self, owner: Owner, path: str, write: PastWrite) -> str:
        """Store the write before it is done, and return its key. If there are too many, the oldest is removed."""
        keys = self.blobs.list(owner, _prefix(path))
        number = int(keys[-1].rpartition("/")[2]) + 1 if keys else 0
        about = {"is_new": write.before is None, "after": write.after, "at": write.at, "by": write.by}
        about |= {"move": write.move} if write.move else {}
        times = {"changed_ns": write.changed_ns, "changed_on": write.changed_on}
        about |= {name: time for name, time in times.items() if time is not None}
        about |= {"before": hash_of(write.before)} if write.before is not None else {}
        about |= {"origin": write.origin.as_json()} if write.origin else {}
        about |= {"kept": write.kept.as_json()} if write.kept else {}
        content = json.dumps(about).encode() + b"\n" + (write.before or b"")
        key = f"{_prefix(path)}{number:08}"
        self.blobs.write(owner, key, content)
        for old in keys[: max(0, len(keys) + 1 - MOST_WRITES)]:
            self.blobs.remove(owner, old)
        return key

    def last(self, owner: Owner, path: str, now: str | None) -> UndoableWrite | None:
        """The last write, or None. `now` is the hash of the document (None: it does not exist).

        A write that was interrupted before it changed anything is removed here.
        """
        for one in self._newest_first(owner, path):
            if one.write.after == now or hash_of(one.write.before) != now:
                return one
            self.blobs.remove(owner, one.key)
        return None

    def is_written(self, owner: Owner, path: str, now: str) -> bool:
        """True if the last write of a tool made the text of that hash."""
        last = next(self._newest_first(owner, path), None)
        return last is not None and last.write.after == now

    def origin_of(self, owner: Owner, path: str, now: str) -> Origin | None:
        """The origin of the text with that hash, if a tool wrote it."""
        return next((one.write.origin for one in self._newest_first(owner, path) if one.write.after == now), None)

    def drop(self, owner: Owner, key: str) -> None:
        """Remove a write that was undone, or that failed."""
        self.blobs.remove(owner, key)

    def of_move(self, owner: Owner, path: str, move: str) -> UndoableWrite | None:
        """The last write of that move to the document, if it is kept."""
        return next((one for one in self._newest_first(owner, path) if one.write.move == move), None)

    def text(self, owner: Owner, path: str, hash: str) -> bytes | None:
        """The previous text of that hash. None if it is not kept."""
        texts = (one.write.before for one in self._newest_first(owner, path))
        return next((text for text in texts if hash_of(text) == hash), None)

    def writes(self, owner: Owner, path: str) -> list[PastWrite]:
        """The writes of a document, oldest first."""
        return [one.write for one in self._newest_first(owner, path)][::-1]

    def _newest_first(self, owner: Owner, path: str) -> Iterator[UndoableWrite]:
        """The writes of a document that are not damaged."""
        keys = self.blobs.list(owner, _prefix(path))
        for number in range(len(keys) - 1, -1, -1):
            if write := read_write(self.blobs.read(owner, keys[number])):
                yield UndoableWrite(keys[number], write, number)

    def restore(self, owner: Owner, path: str, writes: Sequence[PastWrite]) -> None:
        """Keep the writes that are not kept yet."""
        kept = self.writes(owner, path) if writes else []
        for one in writes:
            if one not in kept:
                self.keep(owner, path, one)

    def forget(self, owner: Owner, paths: Iterable[str]) -> None:
        """Remove all previous texts of these documents."""
        gone = {_prefix(path) for path in paths}
        for key in self.blobs.list(owner, FOLDER) if gone else ():
            if f"{key.rpartition('/')[0]}/" in gone:
                self.blobs.remove(owner, key)


def hash_of(content: bytes | None) -> str | None:
    """The hash of a document, as `read_node_content` returns it; None if it does not exist."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def _prefix(path: str) -> str:
    return f"{FOLDER}{content_id(path, length=32)}/"


def read_write(content: bytes) -> PastWrite | None:
    """The write that a blob keeps. None if the blob is damaged."""
    head, _, text = content.partition(b"\n")
    record = stored_record("", head, "", None)
    write = read_or_none(
        record,
        lambda one: PastWrite(
            None if one.value["is_new"] else text,
            string(one.value["after"]),
            string(one.value["at"]),
            string(one.value["by"]),
            None if one.value.get("move") is None else string(one.value["move"]),
            None if one.value.get("changed_ns") is None else cast("int", one.value["changed_ns"]),
            None if one.value.get("changed_on") is None else string(one.value["changed_on"]),
            Origin.from_json(one.value.get("origin")),
            Origin.from_json(one.value.get("kept")),
        ),
    )
    return write if record.value.get("before") in (None, hash_of(text)) else None  # the first ones had no hash
