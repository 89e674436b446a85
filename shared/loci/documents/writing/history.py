"""What documents said before tools wrote them: the last texts of each, so that a write can be undone."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.stores import BlobStore

KEPT = 20
FOLDER = "history/"


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a tool."""

    before: bytes | None
    """None: there was no document."""
    after: str
    """The hash of what was written; empty where the document was taken out."""
    at: str
    by: str
    """The tool's name."""


@dataclass(frozen=True, slots=True)
class PreviousText:
    """A write that can be undone."""

    key: str
    write: Write
    older: int
    """How many there are before it."""


class History:
    """The last writes of each document, by its path. One blob each, so that each is there whole or not at all."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs

    def keep(self, owner: Owner, path: str, write: Write) -> str:
        """Remember it, before it is done, and get its key; the oldest of too many goes."""
        keys = self._blobs.list(owner, _prefix(path))
        number = int(keys[-1].rpartition("/")[2]) + 1 if keys else 0
        about = {"is_new": write.before is None, "after": write.after, "at": write.at, "by": write.by}
        content = json.dumps(about).encode() + b"\n" + (write.before or b"")
        key = f"{_prefix(path)}{number:08}"
        self._blobs.write(owner, key, content)
        for old in keys[: max(0, len(keys) + 1 - KEPT)]:
            self._blobs.remove(owner, old)
        return key

    def last(self, owner: Owner, path: str, now: str | None) -> PreviousText | None:
        """The last write, where the document's hash is `now` (None: there is no document).

        One that was interrupted before it changed anything is forgotten here.
        """
        keys = self._blobs.list(owner, _prefix(path))
        while keys:
            key = keys.pop()
            write = _read(self._blobs.read(owner, key))
            if write.after == now or hash_of(write.before) != now:
                return PreviousText(key, write, len(keys))
            self._blobs.remove(owner, key)
        return None

    def is_written(self, owner: Owner, path: str, now: str) -> bool:
        """Whether the document's text of that hash is what the last write made."""
        keys = self._blobs.list(owner, _prefix(path))
        return bool(keys) and _read(self._blobs.read(owner, keys[-1])).after == now

    def drop(self, owner: Owner, key: str) -> None:
        """Forget a write that was undone, or not done."""
        self._blobs.remove(owner, key)

    def text(self, owner: Owner, path: str, hash: str) -> bytes | None:
        """The former text of that hash; None where it is not kept."""
        for key in reversed(self._blobs.list(owner, _prefix(path))):
            before = _read(self._blobs.read(owner, key)).before
            if hash_of(before) == hash:
                return before
        return None

    def forget(self, owner: Owner, paths: Iterable[str]) -> None:
        """Forget every text of these documents."""
        gone = {_prefix(path) for path in paths}
        for key in self._blobs.list(owner, FOLDER) if gone else ():
            if f"{key.rpartition('/')[0]}/" in gone:
                self._blobs.remove(owner, key)


def hash_of(content: bytes | None) -> str | None:
    """What `read_node_content` calls the hash of a document; None where there is none."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def _prefix(path: str) -> str:
    return f"{FOLDER}{content_id(path, length=32)}/"


def _read(content: bytes) -> Write:
    head, _, text = content.partition(b"\n")
    about = json.loads(head)
    return Write(None if about["is_new"] else text, str(about["after"]), str(about["at"]), str(about["by"]))
