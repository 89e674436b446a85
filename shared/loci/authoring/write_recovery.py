"""Writes a text with its index, and repairs writes that were interrupted between the two."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from loci.authoring.stored_text import BlobText, FileStamp, FileText, StoredText
from loci.authoring.write_targets import WriteTarget, WriteTargets
from loci.core.errors import Damaged, LociError, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.stores import BlobStore, WriteLocks
from loci.core.trust import Origin
from loci.documents.catalog import Catalog
from loci.documents.document import LOCK_WAIT_SECONDS, Document, lock_name
from loci.documents.foreign import foreign_of
from loci.documents.history import History, PastWrite, hash_of
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.vacant_paths import Deletions
from loci.documents.whole_texts import UnfinishedWrite, WholeTexts, WriteJournal
from loci.graph.neighbourhood import DocumentLink


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """The document after a write."""

    target: WriteTarget
    document: Document | None
    """The document; None if it is gone, if it could not be indexed, or in a dry run."""
    hash: str | None
    is_changed: bool
    unfinished: str | None = None
    """The step that failed after the text was written, and what to do."""
    links: Sequence[DocumentLink] = ()
    """The links that it writes, if they were asked for."""


@dataclass(frozen=True, slots=True)
class LastChange:
    """The time at which a document last changed, for a write that must not count as a change."""

    stamp: FileStamp | None
    day: str | None
    is_by_tool: bool = False
    origin: Origin | None = None
    """The origin of the text, if a tool wrote it."""
    foreign: tuple[str, ...] = ()
    """The sources of the texts of others in it."""

    @property
    def is_unknown(self) -> bool:
        """True if a tool wrote the text, and nobody noted what its session had read."""
        return self.is_by_tool and self.origin is None

    @property
    def ns(self) -> int | None:
        """The time of the file; None if the text is in no file."""
        return self.stamp and self.stamp.changed_ns


@dataclass(frozen=True, slots=True)
class WriteRecovery:
    """Writes a text and then brings the index up to date; repairs writes that were interrupted between the two."""

    catalog: Catalog
    writer: IndexWriter
    blobs: BlobStore
    targets: WriteTargets
    locks: WriteLocks

    @property
    def journal(self) -> WriteJournal:
        """The notes of the writes that are not finished."""
        return WriteJournal(self.catalog.records)

    @contextmanager
    def locked(self, owner: Owner, target: WriteTarget) -> Generator[None]:
        """Hold the lock on the document. `Refused` if another writer keeps it for too long."""
        with self.locks.take(owner, lock_name(target.path), LOCK_WAIT_SECONDS) as is_locked:
            if not is_locked:
                raise Refused(f"Another writer is busy with {target.place}", "Try again in a minute", code="BUSY")
            yield

    def stored_text(self, owner: Owner, target: WriteTarget) -> StoredText:
        """The place where the document's text is kept."""
        if target.root:
            return FileText(target.root, target.path)
        return BlobText(self.blobs, owner, self.catalog.find(owner, target.path).id, target.path)

    def read(self, owner: Owner, target: WriteTarget) -> bytes | None:
        """The document's text; None if it does not exist."""
        return self.stored_text(owner, target).read()

    def expect_whole(self, owner: Owner, target: WriteTarget, content: bytes | None) -> None:
        """Raise `Refused` if Loci keeps the text itself, and something else changed it."""
        if target.root is None:
            WholeTexts(self.catalog, self.blobs).expect(owner, target.path, content)

    def last_change(self, owner: Owner, target: WriteTarget) -> LastChange:
        """The time of the document's last change, for `write`. `Refused` if its file is write-protected."""
        document = self.catalog.find(owner, target.path).document
        stamp = self.stored_text(owner, target).stamp()
        if document is None:
            return LastChange(stamp, None)
        origin = Origin(document.sources) if document.trust else None
        return LastChange(stamp, document.changed_on, document.written_by_tool, origin, foreign_of(document))

    def write(
        self,
        owner: Owner,
        target: WriteTarget,
        before: bytes | None,
        after: bytes | None,
        *,
        former: Sequence[str] = (),
        last: LastChange | None = None,
        by_tool: bool = False,
        origin: Origin | None = None,
    ) -> WrittenDocument:
        """Write the text, or remove it (None), then index it. A later error does not look like a failed write.

        `former` are earlier paths of a new document, and `last` is the change that stays its last one. `by_tool`: a
        tool was asked for this text; a move only follows. `origin`: the one of the text; default: that of the `last`.
        """
        unfinished = self.journal.begin(owner, target.path, target.root and target.root.id)
        try:
            text = self.stored_text(owner, target)
            if after is not None:
                text.write(after, before, last and last.stamp)
            elif before is not None:
                text.remove(before)
        except Refused:  # nothing was written
            self.journal.end(owner, unfinished)
            raise
        written = WrittenDocument(target, None, hash_of(after), is_changed=True)
        try:
            written = replace(written, document=self.index(owner, target, former, last, by_tool=by_tool, origin=origin))
        except (Refused, Damaged) as error:  # to repeat it does not help, but a repair may have room later
            return replace(written, unfinished=f"The text is written, but searches do not find it: {error}")
        except LociError as error:
            why = f"Searches do not find the new text yet ({error.what})"
            advice = "The next write or the next start repairs that: do not write it again"
            return replace(written, unfinished=f"{why}. {advice}")
        with suppress(LociError):  # a repair then finds nothing to do, and removes the note
            self.journal.end(owner, unfinished)
        return written

    def put_back(self, owner: Owner, target: WriteTarget, now: bytes | None, past: PastWrite) -> WrittenDocument:
        """Write the text from before that write, with its time and its origin."""
        stamp = None if past.changed_ns is None else FileStamp(None, past.changed_ns)
        change = LastChange(stamp, past.changed_on, is_by_tool=True, origin=past.kept)
        return self.write(owner, target, now, past.before, last=change)

    def index(
        self,
        owner: Owner,
        target: WriteTarget,
        former: Sequence[str] = (),
        last: LastChange | None = None,
        *,
        by_tool: bool = False,
        origin: Origin | None = None,
    ) -> Document | None:
        """Bring the index up to date with the text; None if there is no text, and so no document any more."""
        busy = Unavailable("Other writers keep changing it", "Try again when they are done", code="BUSY")
        return self.writer.retry_on_conflict(
            lambda: self._index_once(owner, target, former, last, by_tool=by_tool, origin=origin), busy
        )

    def repair(self, owner: Owner, finish: Callable[[Owner, UnfinishedWrite], bool]) -> int:
        """Repair the interrupted writes, and return how many there were. `finish` ends a move, unless it goes on."""
        repaired = 0
        # A move writes again what its writes left, so these come first.
        for unfinished in sorted(self.journal.unfinished(owner), key=lambda one: one.move is not None):
            if unfinished.move:
                repaired += finish(owner, unfinished)
                continue
            target = self.targets.at(owner, unfinished.path, unfinished.root)
            with self.locks.take(owner, lock_name(unfinished.path), 0) as is_locked:
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
        self,
        owner: Owner,
        target: WriteTarget,
        former: Sequence[str],
        last: LastChange | None,
        *,
        by_tool: bool,
        origin: Origin | None,
    ) -> Document | None:
        known = self.catalog.find(owner, target.path)
        document, content = known.document, self.read(owner, target)
        origin = origin or (last and last.origin)
        if content is None:
            if document is not None:
                self.writer.remove(owner, document.id)
            return None
        if document is not None and document.sha256 == hash_of(content) and self.writer.is_indexed(owner, document):
            marked = _with_origin(document, origin) if origin else document
            if marked != document:  # who watches the folder was faster, and knows no origin
                self.catalog.put(owner, marked, known.version)
            return marked
        root, deletions = target.root and target.root.id, Deletions(self.catalog.records)
        day = last and last.day
        draft = self.writer.draft(known.id, target.path, root, content, known.version, document, changed_on=day)
        deleted = deletions.find(owner, target.path) if document is None and root is None else None
        new = draft.document
        if origin is None and last is None and new.trust is None:  # a write that was interrupted
            origin = History(self.blobs).origin_of(owner, target.path, new.sha256)
        new = _with_origin(new, origin) if origin or last else new
        new = replace(
            new,
            former=tuple(former) or new.former,
            written_by_tool=by_tool or new.written_by_tool or bool(last and last.is_by_tool),
            # A deleted one comes back as the upload that it was.
            uploaded_sha256=deleted.sha256 if deleted else new.uploaded_sha256,
        )
        draft = self.writer.embed_one(owner, replace(draft, document=new))
        written = self.writer.write(owner, draft)
        if deleted:
            deletions.end(owner, target.path)
        return written


def _with_origin(document: Document, origin: Origin | None) -> Document:
    return replace(document, trust=origin and origin.trust, sources=origin.sources if origin else ())
