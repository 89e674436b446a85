"""The traces of writes: previous texts, so that they can be undone, and the journal that repairs interrupted ones."""

import hashlib
import json
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from loci.core.errors import LociError, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.ids import content_id, random_id
from loci.core.json import JsonObject
from loci.core.stores import BlobStore, RecordStore, WriteLocks, every
from loci.documents.catalog import Catalog
from loci.documents.document import LOCK_WAIT_SECONDS, Document, lock_name
from loci.documents.graph.own_links import OwnLinks
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.writing.stored_text import BlobText, FileText, StoredText, WriteTarget, WriteTargets

MOST_WRITES = 20
"""Writes that are kept for each document."""
FOLDER = "history/"


@dataclass(frozen=True, slots=True)
class PastWrite:
    """One write of a tool, with the text that it replaced."""

    before: bytes | None
    """None: the write created the document."""
    after: str
    """The hash of the text that was written. Empty if the write removed the document."""
    at: str
    by: str
    """The tool's name."""


@dataclass(frozen=True, slots=True)
class UndoableWrite:
    """The write that `undo` takes back next."""

    key: str
    write: PastWrite
    older: int
    """The number of earlier writes that can still be undone after this one."""


class History:
    """The last writes of each document, by its path. Each is one blob, so a crash never leaves half of one."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs

    def keep(self, owner: Owner, path: str, write: PastWrite) -> str:
        """Store the write before it is done, and return its key. If there are too many, the oldest is removed."""
        keys = self._blobs.list(owner, _prefix(path))
        number = int(keys[-1].rpartition("/")[2]) + 1 if keys else 0
        about = {"is_new": write.before is None, "after": write.after, "at": write.at, "by": write.by}
        content = json.dumps(about).encode() + b"\n" + (write.before or b"")
        key = f"{_prefix(path)}{number:08}"
        self._blobs.write(owner, key, content)
        for old in keys[: max(0, len(keys) + 1 - MOST_WRITES)]:
            self._blobs.remove(owner, old)
        return key

    def last(self, owner: Owner, path: str, now: str | None) -> UndoableWrite | None:
        """The last write, if there is one. `now` is the hash of the document (None: there is no document).

        A write that was interrupted before it changed anything is removed here.
        """
        keys = self._blobs.list(owner, _prefix(path))
        while keys:
            key = keys.pop()
            write = _read(self._blobs.read(owner, key))
            if write.after == now or hash_of(write.before) != now:
                return UndoableWrite(key, write, len(keys))
            self._blobs.remove(owner, key)
        return None

    def is_written(self, owner: Owner, path: str, now: str) -> bool:
        """True if the last write of a tool made the text of that hash."""
        keys = self._blobs.list(owner, _prefix(path))
        return bool(keys) and _read(self._blobs.read(owner, keys[-1])).after == now

    def drop(self, owner: Owner, key: str) -> None:
        """Remove a write that was undone, or that failed."""
        self._blobs.remove(owner, key)

    def text(self, owner: Owner, path: str, hash: str) -> bytes | None:
        """The previous text of that hash. None if it is not kept."""
        for key in reversed(self._blobs.list(owner, _prefix(path))):
            before = _read(self._blobs.read(owner, key)).before
            if hash_of(before) == hash:
                return before
        return None

    def forget(self, owner: Owner, paths: Iterable[str]) -> None:
        """Remove all previous texts of these documents."""
        gone = {_prefix(path) for path in paths}
        for key in self._blobs.list(owner, FOLDER) if gone else ():
            if f"{key.rpartition('/')[0]}/" in gone:
                self._blobs.remove(owner, key)


def hash_of(content: bytes | None) -> str | None:
    """The hash of a document, as `read_node_content` returns it. None if there is no document."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def _prefix(path: str) -> str:
    return f"{FOLDER}{content_id(path, length=32)}/"


def _read(content: bytes) -> PastWrite:
    head, _, text = content.partition(b"\n")
    about = json.loads(head)
    return PastWrite(None if about["is_new"] else text, str(about["after"]), str(about["at"]), str(about["by"]))


UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class UnfinishedWrite:
    """The note that a document is being written."""

    path: str
    root: str | None
    """The id of the root that its file lies in. None: its text is a blob."""
    scratch: str
    """The name of the file beside it that will replace it."""

    @property
    def key(self) -> str:
        return content_id(self.path, length=32)


class WriteJournal:
    """The unfinished writes of each owner."""

    def __init__(self, records: RecordStore) -> None:
        self._records = records

    def begin(self, owner: Owner, path: str, root: str | None) -> UnfinishedWrite:
        """Note that the document is going to be written."""
        write = UnfinishedWrite(path, root, f".loci-{random_id()}.tmp")
        value: JsonObject = {"path": write.path, "root": write.root, "scratch": write.scratch}
        self._records.put(owner, UNFINISHED, write.key, value)
        return write

    def end(self, owner: Owner, write: UnfinishedWrite) -> None:
        """Remove the note: the write is finished, or it has failed without changing anything."""
        self._records.remove(owner, UNFINISHED, write.key)

    def is_unfinished(self, owner: Owner, write: UnfinishedWrite) -> bool:
        """True if the document still has a note."""
        return self._records.get(owner, UNFINISHED, write.key) is not None

    def unfinished(self, owner: Owner) -> list[UnfinishedWrite]:
        """All writes that are not finished."""
        found = [record.value for record in every(self._records, owner, UNFINISHED)]
        return [
            UnfinishedWrite(str(one["path"]), None if one["root"] is None else str(one["root"]), str(one["scratch"]))
            for one in found
        ]


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """A text that was written."""

    document: Document | None
    """Its document. None: the document is gone, or could not be indexed."""
    unfinished: str | None = None
    """What could not be done after that, and what to do. None: all was done."""


class WriteRecovery:
    """Writes a text and then brings the index up to date; repairs writes that were interrupted between the two."""

    def __init__(
        self,
        catalog: Catalog,
        writer: IndexWriter,
        blobs: BlobStore,
        targets: WriteTargets,
        journal: WriteJournal,
        locks: WriteLocks,
        own_links: OwnLinks,
    ) -> None:
        self._catalog = catalog
        self._writer = writer
        self._blobs = blobs
        self._targets = targets
        self._journal = journal
        self._locks = locks
        self._own_links = own_links

    @contextmanager
    def locked(self, owner: Owner, target: WriteTarget) -> Generator[None]:
        """Hold the lock on the document. `Refused` if another writer keeps it for too long."""
        with self._locks.take(owner, lock_name(target.path), LOCK_WAIT_SECONDS) as is_locked:
            if not is_locked:
                raise Refused(f"Another writer is busy with {target.place}", "Try again in a minute", code="BUSY")
            yield

    def stored_text(self, owner: Owner, target: WriteTarget, scratch: str = "") -> StoredText:
        """The place where the document's text is kept. `scratch` names the file that a write makes beside it."""
        if target.root:
            return FileText(target.root, target.path, scratch)
        return BlobText(self._blobs, owner, self._catalog.find(owner, target.path).id, target.path)

    def write(self, owner: Owner, target: WriteTarget, change: Callable[[StoredText], None]) -> WriteOutcome:
        """Let `change` write or remove the text, then index it. Once the text is written, no error says otherwise."""
        unfinished = self._journal.begin(owner, target.path, target.root and target.root.id)
        try:
            change(self.stored_text(owner, target, unfinished.scratch))
        except Refused:  # nothing was written
            self._journal.end(owner, unfinished)
            raise
        try:
            document = self.index(owner, target)
        except LociError as error:
            return WriteOutcome(
                None,
                f"Searches do not find the new text yet ({error.what}). The next write or the next start repairs that:"
                " do not write it again",
            )
        with suppress(LociError):  # a repair then finds nothing to do, and removes the note
            self._journal.end(owner, unfinished)
        return WriteOutcome(document)

    def index(self, owner: Owner, target: WriteTarget) -> Document | None:
        """Bring the index up to date with the text. None if there is no text, and so no document any more."""
        busy = Unavailable("Other writers keep changing it", "Try again when they are done", code="BUSY")
        return self._writer.retry_on_conflict(lambda: self._index_once(owner, target), busy)

    def repair(self, owner: Owner) -> int:
        """Repair the interrupted writes, and return how many there were."""
        repaired = 0
        for unfinished in self._journal.unfinished(owner):
            target = self._targets.at(owner, unfinished.path, unfinished.root)
            with self._locks.take(owner, lock_name(unfinished.path), 0) as is_locked:
                if not is_locked or not self._journal.is_unfinished(owner, unfinished):
                    continue  # another writer is writing it now, or has just finished
                if target is not None:
                    self.stored_text(owner, target, unfinished.scratch).clear()
                    self.index(owner, target)
                self._journal.end(owner, unfinished)
                repaired += 1
        return repaired

    def _index_once(self, owner: Owner, target: WriteTarget) -> Document | None:
        known = self._catalog.find(owner, target.path)
        document = known.document
        content = self.stored_text(owner, target).read()
        if content is None:
            if document is not None:
                with self._own_links.following(owner, document.id):
                    self._writer.remove(owner, document.id)
            return None
        if document is not None and document.sha256 == hash_of(content) and self._writer.is_current(document):
            return document
        root = target.root and target.root.id
        draft = self._writer.draft(known.id, target.path, root, content, known.version, document)
        draft = self._writer.embed_one(owner, draft)
        with self._own_links.following(owner, known.id):
            return self._writer.write(owner, draft)
