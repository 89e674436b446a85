"""Documents written by tools: none torn, none lost, each found as it reads, and each write can be undone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loci.core.errors import Conflict, NotFound, Refused
from loci.core.identity import Owner
from loci.core.moments import iso
from loci.core.stores import BlobStore, RecordStore, WriteLocks
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.ingest.index_writer import RETRY_PAUSES, IndexWriter
from loci.documents.ingest.local_files import MAX_DOCUMENT_BYTES
from loci.documents.writing.difference import difference
from loci.documents.writing.history import History, PreviousText, Write, hash_of
from loci.documents.writing.stored_text import StoredText as Text
from loci.documents.writing.targets import Target, Targets
from loci.documents.writing.write_journal import WriteJournal
from loci.documents.writing.write_recovery import WriteRecovery

Change = Callable[[str, bytes | None], bytes]
"""What makes of the document of that path, as it is now (None: there is none), the one that it is to be."""


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """What became of a document."""

    target: Target
    document: Document | None
    """None: it is there no more, or nothing was done yet."""
    hash: str | None
    is_changed: bool


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of a document whose last write was taken back."""

    written: WrittenDocument
    write: Write
    older: int
    """Writes that can still be undone."""


class Edits:
    """Writes documents. One writer at a time has a document; who lost learns what the other one changed."""

    def __init__(
        self,
        catalog: Catalog,
        writer: IndexWriter,
        records: RecordStore,
        blobs: BlobStore,
        turns: WriteLocks,
        clock: Callable[[], float],
        write_roots: Sequence[Path],
    ) -> None:
        self._targets = Targets(catalog, write_roots)
        self._finishing = WriteRecovery(catalog, writer, blobs, self._targets, WriteJournal(records), turns)
        self._history = History(blobs)
        self._clock = clock

    def repair(self, owner: Owner) -> int:
        """How many interrupted writes were put right."""
        return self._finishing.repair(owner)

    def change(
        self, owner: Owner, name: str, change: Change, *, expect: str | None, by: str, dry_run: bool = False
    ) -> WrittenDocument:
        """Write the document, and have it found as it is now. `expect` is the hash that it must have."""
        self.repair(owner)
        target = self._targets.find(owner, name)
        with self._finishing.turn(owner, target):
            for _ in RETRY_PAUSES:
                before = self._finishing.text(owner, target).read()
                if expect is not None and hash_of(before) != expect:
                    raise self._changed(owner, target, before, expect, change)
                after = change(target.path, before)
                if len(after) > MAX_DOCUMENT_BYTES:
                    raise Refused(f"{target.place} would have over 10 MB", "Split it", code="FILE_TOO_LARGE")
                if dry_run:
                    return WrittenDocument(target, None, hash_of(after), is_changed=before != after)
                if before == after:
                    document = self._finishing.found(owner, target)
                    return WrittenDocument(target, document, hash_of(after), is_changed=False)
                try:
                    document = self._put(owner, target, before, after, by)
                except Conflict:  # an editor was faster: what it wrote is what there is to change
                    continue
                return WrittenDocument(target, document, hash_of(after), is_changed=True)
        raise Refused(f"Others write {target.place} all the time", "Try again when they are done", code="BUSY")

    def undo(self, owner: Owner, name: str, *, expect: str | None) -> Undone:
        """Put back what the document said before the last write of a tool, or take away what that had made."""
        self.repair(owner)
        target = self._targets.find(owner, name)
        with self._finishing.turn(owner, target):
            now = self._finishing.text(owner, target).read()
            kept = self._history.last(owner, target.path, hash_of(now))
            if kept is None:
                raise NotFound(f"No tool has written {target.place}", "There is nothing to undo", code="NO_HISTORY")
            if now is None and expect is not None:
                raise _gone(target)
            if now is not None and hash_of(now) != (expect or kept.write.after):
                raise _changed_since(target, now, kept)
            former = kept.write.before

            def put_back(text: Text) -> None:
                if former is not None:
                    text.write(former, now)
                elif now is not None:
                    text.remove(now)

            document = self._finishing.do(owner, target, put_back)
            self._history.drop(owner, kept.key)
        return Undone(WrittenDocument(target, document, hash_of(former), is_changed=True), kept.write, kept.older)

    def _put(self, owner: Owner, target: Target, before: bytes | None, after: bytes, by: str) -> Document | None:
        write = Write(before, str(hash_of(after)), iso(self._clock()), by)
        key = self._history.keep(owner, target.path, write)
        try:
            return self._finishing.do(owner, target, lambda text: text.write(after, before))
        except Refused:
            self._history.drop(owner, key)
            raise

    def _changed(self, owner: Owner, target: Target, now: bytes | None, expect: str, change: Change) -> Exception:
        """What the second of two writers is told: what the first has changed, or else what its own write would."""
        if now is None:
            return _gone(target)
        known = self._history.text(owner, target.path, expect)
        if known is not None:
            said, told = "What changed since", difference(known, now, "as you read it", "as it is now")
        else:
            wanted = change(target.path, now)
            said, told = "Your write would change this now", difference(now, wanted, "as it is now", "as you want it")
        return Conflict(
            f"{target.place} has changed since it had that hash, which is now {hash_of(now)}. {said}:\n{told}",
            "Read it again, then write what is to stand there with the new hash",
        )


def _changed_since(target: Target, now: bytes, kept: PreviousText) -> Conflict:
    told = difference(now, kept.write.before, "as it is now", "as it was before that write")
    return Conflict(
        f"{target.place} has changed since a tool wrote it; its hash is now {hash_of(now)}. To undo that write would"
        f" change this now:\n{told}",
        "To do it all the same, call again with the hash of now as expected_hash",
    )


def _gone(target: Target) -> NotFound:
    return NotFound(f"{target.place} is not there", "Leave out expected_hash to make it anew", code="DOCUMENT_GONE")
