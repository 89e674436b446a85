"""A write from its first mark to the document that is found: what is interrupted between them is put right later."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from loci.core.errors import Refused, Unavailable
from loci.core.identity import Owner
from loci.core.stores import BlobStore, WriteLocks
from loci.documents.catalog import Catalog
from loci.documents.document import LOCK_WAIT_SECONDS, Document, lock_name
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.writing.history import hash_of
from loci.documents.writing.stored_text import Blob, File, StoredText
from loci.documents.writing.targets import Target, Targets
from loci.documents.writing.write_journal import WriteJournal


class WriteRecovery:
    """Brings the library up to what is written: each document, one writer at a time."""

    def __init__(
        self,
        catalog: Catalog,
        writer: IndexWriter,
        blobs: BlobStore,
        targets: Targets,
        unfinished: WriteJournal,
        turns: WriteLocks,
    ) -> None:
        self._catalog = catalog
        self._writer = writer
        self._blobs = blobs
        self._targets = targets
        self._unfinished = unfinished
        self._turns = turns

    @contextmanager
    def turn(self, owner: Owner, target: Target) -> Generator[None]:
        """Nobody else writes the document meanwhile; `Refused` where somebody does, and does not end."""
        with self._turns.take(owner, lock_name(target.path), LOCK_WAIT_SECONDS) as has_turn:
            if not has_turn:
                raise Refused(f"Somebody else writes {target.place}", "Try again in a minute", code="BUSY")
            yield

    def text(self, owner: Owner, target: Target, scratch: str = "") -> StoredText:
        """Where the document's text is; `scratch` as in `write_file`."""
        if target.root:
            return File(target.root, target.path, scratch)
        return Blob(self._blobs, owner, self._catalog.find(owner, target.path).id, target.path)

    def do(self, owner: Owner, target: Target, write: Callable[[StoredText], None]) -> Document | None:
        """The document as it is found when `write` has written its text; None where there is none any more."""
        mark = self._unfinished.mark(target.path, target.root and target.root.id)
        self._unfinished.add(owner, mark)
        try:
            write(self.text(owner, target, mark.scratch))
        except Refused:  # nothing was written
            self._unfinished.remove(owner, mark)
            raise
        try:
            document = self.found(owner, target)
        except Unavailable as error:
            raise Unavailable(
                f"{target.place} is written, but not found as it is now: {error.what}",
                "The next write or the next start puts that right. Do not write it again",
                code="NOT_INDEXED",
            ) from error
        self._unfinished.remove(owner, mark)
        return document

    def found(self, owner: Owner, target: Target) -> Document | None:
        """The document, found as it reads now; None where there is none, so that none is found."""
        busy = Unavailable("Others write it all the time", "Try again when they are done", code="BUSY")
        return self._writer.retry_on_conflict(lambda: self._found(owner, target), busy)

    def repair(self, owner: Owner) -> int:
        """How many writes were put right that had been interrupted before the document could be found as it is."""
        done = 0
        for mark in self._unfinished.marks(owner):
            target = self._targets.at(owner, mark.path, mark.root)
            with self._turns.take(owner, lock_name(mark.path), 0) as has_turn:
                if not has_turn or not self._unfinished.is_there(owner, mark):
                    continue  # it is being written just now, or was
                if target is not None:
                    self.text(owner, target, mark.scratch).clear()
                    self.found(owner, target)
                self._unfinished.remove(owner, mark)
                done += 1
        return done

    def _found(self, owner: Owner, target: Target) -> Document | None:
        known = self._catalog.find(owner, target.path)
        held = known.document
        content = self.text(owner, target).read()
        if content is None:
            if held is not None:
                self._writer.remove(owner, held.id)
            return None
        if held is not None and held.sha256 == hash_of(content) and self._writer.is_current(held):
            return held
        root = target.root and target.root.id
        draft = self._writer.draft(known.id, target.path, root, content, known.version, held)
        return self._writer.write(owner, self._writer.embed_one(owner, draft))
