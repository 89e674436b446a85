"""Writes a text with its index, and repairs writes that were interrupted between the two."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from loci.core.errors import Damaged, LociError, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.stores import BlobStore, WriteLocks
from loci.documents.catalog import Catalog
from loci.documents.document import LOCK_WAIT_SECONDS, Document
from loci.documents.document_ids import lock_name
from loci.documents.graph.own_links import OwnLinks
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.writing.deletions import Deletions
from loci.documents.writing.history import hash_of
from loci.documents.writing.stored_text import BlobText, FileText, StoredText
from loci.documents.writing.whole_texts import WholeTexts
from loci.documents.writing.write_journal import UnfinishedWrite, WriteJournal
from loci.documents.writing.write_targets import WriteTarget, WriteTargets


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """A text that was written."""

    document: Document | None
    """Its document. None: the document is gone, or could not be indexed."""
    unfinished: str | None = None
    """The step that failed after that, and what to do. None: all was done."""


class WriteRecovery:
    """Writes a text and then brings the index up to date; repairs writes that were interrupted between the two."""

    def __init__(
        self,
        catalog: Catalog,
        writer: IndexWriter,
        blobs: BlobStore,
        targets: WriteTargets,
        locks: WriteLocks,
        own_links: OwnLinks,
        deletions: Deletions,
    ) -> None:
        self._catalog = catalog
        self._writer = writer
        self._blobs = blobs
        self._targets = targets
        self.journal = WriteJournal(catalog.records)
        self._locks = locks
        self._own_links = own_links
        self._deletions = deletions
        self._whole = WholeTexts(catalog, blobs)

    def expect_whole(self, owner: Owner, target: WriteTarget, content: bytes | None) -> None:
        """Raise `Refused` if Loci keeps the text itself, and this is not what it wrote."""
        if target.root is None:
            self._whole.expect(owner, target.path, content)

    @contextmanager
    def locked(self, owner: Owner, target: WriteTarget) -> Generator[None]:
        """Hold the lock on the document. `Refused` if another writer keeps it for too long."""
        with self._locks.take(owner, lock_name(target.path), LOCK_WAIT_SECONDS) as is_locked:
            if not is_locked:
                raise Refused(f"Another writer is busy with {target.place}", "Try again in a minute", code="BUSY")
            yield

    def stored_text(self, owner: Owner, target: WriteTarget) -> StoredText:
        """The place where the document's text is kept."""
        if target.root:
            return FileText(target.root, target.path)
        return BlobText(self._blobs, owner, self._catalog.find(owner, target.path).id, target.path)

    def write(
        self,
        owner: Owner,
        target: WriteTarget,
        change: Callable[[StoredText], None],
        former: Sequence[str] = (),
        *,
        by_tool: bool = False,
    ) -> WriteOutcome:
        """Let `change` write or remove the text, then index it. Once the text is written, no error says otherwise.

        `former` are earlier paths of a new document. `by_tool`: a tool was asked for this text; a move only follows.
        """
        unfinished = self.journal.begin(owner, target.path, target.root and target.root.id)
        try:
            change(self.stored_text(owner, target))
        except Refused:  # nothing was written
            self.journal.end(owner, unfinished)
            raise
        try:
            document = self.index(owner, target, former, by_tool=by_tool)
        except Refused as error:  # a repetition does not help, but the repair tries it when there may be room
            return WriteOutcome(None, f"The text is written, but searches do not find it: {error}")
        except Damaged as error:
            return WriteOutcome(None, f"The text is written, but searches do not find it yet: {error}")
        except LociError as error:
            return WriteOutcome(
                None,
                f"Searches do not find the new text yet ({error.what}). The next write or the next start repairs that:"
                " do not write it again",
            )
        with suppress(LociError):  # a repair then finds nothing to do, and removes the note
            self.journal.end(owner, unfinished)
        return WriteOutcome(document)

    def index(
        self, owner: Owner, target: WriteTarget, former: Sequence[str] = (), *, by_tool: bool = False
    ) -> Document | None:
        """Bring the index up to date with the text. None if there is no text, and so no document any more."""
        busy = Unavailable("Other writers keep changing it", "Try again when they are done", code="BUSY")
        return self._writer.retry_on_conflict(lambda: self._index_once(owner, target, former, by_tool=by_tool), busy)

    def repair(self, owner: Owner, finish: Callable[[Owner, UnfinishedWrite], bool]) -> int:
        """Repair the interrupted writes, and return how many there were. `finish` ends a move, unless it goes on."""
        repaired = 0
        # A move writes again what its writes left, so these come first.
        for unfinished in sorted(self.journal.unfinished(owner), key=lambda one: one.move is not None):
            if unfinished.move:
                repaired += finish(owner, unfinished)
                continue
            target = self._targets.at(owner, unfinished.path, unfinished.root)
            with self._locks.take(owner, lock_name(unfinished.path), 0) as is_locked:
                if not is_locked or not self.journal.is_unfinished(owner, unfinished):
                    continue  # another writer is writing it now, or has just finished
                try:
                    if target is not None:
                        self.stored_text(owner, target).clear()
                        self.index(owner, target)
                except (Refused, Damaged):  # the index is full, or damaged: the writes that come go on
                    continue
                self.journal.end(owner, unfinished)
                repaired += 1
        return repaired

    def _index_once(
        self, owner: Owner, target: WriteTarget, former: Sequence[str], *, by_tool: bool
    ) -> Document | None:
        known = self._catalog.find(owner, target.path)
        document = known.document
        content = self.stored_text(owner, target).read()
        if content is None:
            if document is not None:
                with self._own_links.following(owner, document.id):
                    self._writer.remove(owner, document.id)
            return None
        if document is not None and document.sha256 == hash_of(content) and self._writer.is_indexed(owner, document):
            return document
        root = target.root and target.root.id
        draft = self._writer.draft(known.id, target.path, root, content, known.version, document)
        deleted = self._deletions.find(owner, target.path) if document is None and root is None else None
        if former:
            draft = replace(draft, document=replace(draft.document, former=tuple(former)))
        if by_tool:
            draft = replace(draft, document=replace(draft.document, written_by_tool=True))
        if deleted:  # it comes back as the upload that it was
            draft = replace(draft, document=replace(draft.document, uploaded_sha256=deleted.sha256))
        draft = self._writer.embed_one(owner, draft)
        with self._own_links.following(owner, known.id):
            written = self._writer.write(owner, draft)
        if deleted:
            self._deletions.end(owner, target.path)
        return written
