"""Changes to documents by tools: none is half written or lost, each is searchable at once, and each can be undone."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from loci.authoring.edit_draft import EditDraft, missing
from loci.authoring.write_recovery import WriteRecovery, WrittenDocument
from loci.authoring.write_targets import WriteTarget, WriteTargets
from loci.core.errors import Conflict, LociError, NotFound, Refused
from loci.core.full_disk import freeing
from loci.core.identity import Owner
from loci.core.lazy import Lazy
from loci.core.settings import Settings
from loci.core.stores import BlobStore, WriteLocks
from loci.core.trust import Origin, saw
from loci.documents.document import DOCUMENT_ID, Document
from loci.documents.foreign import foreign_of
from loci.documents.history import History, PastWrite, UndoableWrite, hash_of
from loci.documents.ingest.index_writer import RETRY_PAUSES
from loci.documents.ingest.local_files import MAX_DOCUMENT_BYTES
from loci.documents.parts import DocumentParts
from loci.documents.unknown_names import UnknownNames
from loci.documents.vacant_paths import Deletions
from loci.graph.own_links import OwnLinks
from loci.markdown.encodings import require_text

if TYPE_CHECKING:
    from loci.authoring.moving import MovedDocument, MovePlan, Moves, SupersedingPlan
    from loci.authoring.superseding import Supersedings

TAGS = "inject_tags"
"""The tool whose writes keep the time of the document: nothing but tags changes."""
MOST_LINES = 60
LONGEST_LINE = 200
MOST_COMPARED = 2_000
"""Lines of either text after their common beginning. To compare more would take seconds."""
Change = Callable[[str, bytes | None], bytes]
"""Makes the new text of a document from its path and its current text (None: it does not exist)."""


@dataclass(frozen=True, slots=True)
class UndoneWrite:
    """A write that was undone, and the document after that."""

    written: WrittenDocument
    write: PastWrite
    older: int
    """The number of earlier writes that can still be undone."""
    other: WrittenDocument | None = None
    """The other document, if the write had superseded one with another."""


@dataclass(frozen=True, slots=True)
class AddedTags:
    """Tags that were added to a document, or would be."""

    written: WrittenDocument
    document: Document | None
    added: tuple[str, ...]
    is_merged: bool
    """True if they joined tags that were there."""


class Authoring:
    """Changes documents. A lock keeps it to one writer at a time; the others then learn what the first one changed.

    Each change can be taken back. `expect` is the hash that the document must have now.
    """

    def __init__(
        self,
        settings: Settings,
        blobs: BlobStore,
        locks: WriteLocks,
        documents: DocumentParts,
        wrote: Callable[[Owner, str, str, Origin | None], None],
        check_writable: Callable[[Owner, str], None] = lambda _, __: None,
    ) -> None:
        """`wrote` is told of each write: the tool, the path, and the origin, if it is known.

        `check_writable` refuses the names of what other owners share.
        """
        self._wrote = wrote
        self._catalog = catalog = documents.catalog
        self._writer = writer = documents.writer
        self._own_links = OwnLinks(catalog, writer.links)
        self._deletions = Deletions(catalog.records)
        self._history = History(blobs)
        roots = settings.write_roots if settings.mode == "embedded" else ()  # there are no folders on AWS
        self._targets = WriteTargets(catalog, roots, documents.scan, settings.sessions_folder, check_writable)
        self._recovery = WriteRecovery(catalog, writer, blobs, self._targets, locks)

        def moves() -> "Moves":
            from loci.authoring.moving import Moves  # 0.1 s, which a search does not pay

            return Moves(catalog, writer, self._own_links, blobs, locks, self._targets, self._recovery)

        def supersedings() -> "Supersedings":
            from loci.authoring.superseding import Supersedings

            return Supersedings(self._moves.get(), documents.supersession)

        self._moves = Lazy(moves)
        self._supersedings = Lazy(supersedings)

    def repair(self, owner: Owner) -> int:
        """Repair the interrupted writes, and return how many there were."""
        return self._recovery.repair(
            owner, lambda owner, note: self._moves.get().finish(owner, note, self._supersedings.get().finish)
        )

    def add_tags(
        self, owner: Owner, name: str, tags: Sequence[str], *, dry_run: bool, origin: Origin | None = None
    ) -> AddedTags:
        """Write tags into a document that lacks them. A dry run writes nothing."""
        from loci.authoring.tagging import TaggedText, tagged  # 0.1 s, which a search does not pay

        done: list[TaggedText] = []

        def change(path: str, before: bytes | None) -> bytes:
            if before is None:
                raise missing(name)
            done[:] = [tagged(path, before, list(tags))]
            return done[0].content

        self._check_id(owner, name)
        written = self.change(owner, name, change, expect=None, by=TAGS, dry_run=dry_run, origin=origin)
        document = written.document or self._catalog.find(owner, written.target.path).document
        return AddedTags(written, document, done[0].added, done[0].is_merged)

    def write(
        self,
        owner: Owner,
        name: str,
        draft: EditDraft,
        *,
        expect: str | None,
        supersedes: str | None = None,
        origin: Origin | None = None,
    ) -> WrittenDocument:
        """Create a document or change its text, and return it with its links. Mark the one that it supersedes."""
        if draft.mode != "create":
            self._check_id(owner, name)
        is_whole = draft.mode == "replace" and draft.heading is None
        by = "write_document"
        if supersedes is None:
            written = self.change(owner, name, draft.apply, expect=expect, by=by, origin=origin, is_whole=is_whole)
            return self._with_links(owner, written)
        self._check_id(owner, supersedes)
        self.repair(owner)

        def write(target: WriteTarget, change: Change, plan: str) -> WrittenDocument:
            return self._change(
                owner, target, change, expect=expect, by=by, move=plan, origin=origin, is_whole=is_whole
            )

        marked, sources = self._targets.find_itself(owner, supersedes), origin.sources if origin else ()
        written = self._supersedings.get().write(owner, name, supersedes, draft, write, sources)
        if written.is_changed:
            self._wrote(owner, by, marked.path, origin)
        return self._with_links(owner, written)

    def move(
        self, owner: Owner, name: str, to: str, *, expect: str | None, origin: Origin | None = None
    ) -> "MovedDocument":
        """Move the document, and rewrite the links that lead to it: all or nothing."""
        self._check_id(owner, name)
        self.repair(owner)
        moved = self._moves.get().move(owner, name, to, expect=expect)
        self._wrote(owner, "move_document", moved.written.target.path, origin)
        return moved

    def change(
        self,
        owner: Owner,
        name: str,
        change: Change,
        *,
        expect: str | None,
        by: str,
        dry_run: bool = False,
        origin: Origin | None = None,
        is_whole: bool = False,
    ) -> WrittenDocument:
        """Change the document and index it. `by` is the tool's name, `origin` who called it.

        `is_whole`: the new text replaces all of the old one.
        """
        self.repair(owner)
        target = self._targets.find(owner, name)
        return self._change(
            owner, target, change, expect=expect, by=by, dry_run=dry_run, origin=origin, is_whole=is_whole
        )

    def _change(
        self,
        owner: Owner,
        target: WriteTarget,
        change: Change,
        *,
        expect: str | None,
        by: str,
        dry_run: bool = False,
        move: str | None = None,
        origin: Origin | None = None,
        is_whole: bool = False,
    ) -> WrittenDocument:
        """Change the document and index it, as a part of the plan `move`, if there is one."""
        with self._recovery.locked(owner, target):
            for _ in RETRY_PAUSES:
                before = self._recovery.read(owner, target)
                self._recovery.expect_whole(owner, target, before)
                if before is not None:
                    require_text(target.place, before)
                if expect is not None and hash_of(before) != expect:
                    raise self._changed_since_read(owner, target, before, expect, change)
                after = change(target.path, before)
                require_text(target.place, after)
                if len(after) > MAX_DOCUMENT_BYTES:
                    raise Refused(f"{target.place} would be larger than 10 MB", "Split it", code="FILE_TOO_LARGE")
                if dry_run:
                    return WrittenDocument(target, None, hash_of(after), is_changed=before != after)
                if before == after:
                    return WrittenDocument(target, self._recovery.index(owner, target), hash_of(after), False)
                try:
                    return self._write(owner, target, before, after, by, origin, is_whole=is_whole, move=move)
                except Conflict:  # an editor wrote the file meanwhile: change what it wrote
                    continue
        raise Refused(f"Other writers keep changing {target.place}", "Try again when they are done", code="BUSY")

    @freeing()
    def delete(self, owner: Owner, name: str, *, expect: str, origin: Origin | None = None) -> WrittenDocument:
        """Delete the document."""
        self._check_id(owner, name)
        self.repair(owner)
        target = self._targets.find_itself(owner, name)
        with self._recovery.locked(owner, target):
            before = self._recovery.read(owner, target)
            if before is None:
                raise missing(target.place)
            require_text(target.place, before)
            if hash_of(before) != expect:
                raise self._changed_since_read(owner, target, before, expect)
            if document := self._catalog.find(owner, target.path).document:
                self._deletions.note(owner, document, self._writer.now())
            return self._write(owner, target, before, None, "delete_document", origin)

    def undo(self, owner: Owner, name: str, *, expect: str | None, origin: Origin | None = None) -> UndoneWrite:
        """Put back the text from before the last write of a tool, or remove the document if that write created it."""
        undone = self._undo(owner, name, expect=expect)
        for one in (undone.written, undone.other):
            if one:
                self._wrote(owner, "undo_write", one.target.path, origin)
        return undone

    def _undo(self, owner: Owner, name: str, *, expect: str | None) -> UndoneWrite:
        if DOCUMENT_ID.fullmatch(name) and self._catalog.document(owner, name) is None:
            advice = "If it was deleted, name it by its path, as in notes/plan.md"
            raise NotFound(f"There is no document {name}", advice, code="NODE_NOT_FOUND")
        self.repair(owner)
        target = self._targets.find(owner, name)
        with self._recovery.locked(owner, target):
            now = self._recovery.read(owner, target)
            last = self._history.last(owner, target.path, hash_of(now))
            if last is None:
                raise NotFound(f"No tool has written {target.place}", "There is nothing to undo", code="NO_HISTORY")
            try:
                self._recovery.expect_whole(owner, target, now)
            except Refused:
                if last.write.before is None:
                    raise
                expect = expect or hash_of(now)  # what it damaged is not what anybody wrote
            plan = self._moves.get().find(owner, last.write.move, target.path) if last.write.move else None
            if plan is None:
                return self._undone(owner, target, now, last, expect)
        written, other = self._take_back(owner, plan, target, expect)
        return UndoneWrite(self._with_links(owner, written), last.write, last.older, other)

    def _take_back(
        self, owner: Owner, plan: "MovePlan | SupersedingPlan", target: WriteTarget, expect: str | None
    ) -> tuple[WrittenDocument, WrittenDocument | None]:
        """Take back a change of several documents. Return the one asked for, and the other one of a superseding."""
        from loci.authoring.moving import MovePlan

        moves = self._moves.get()
        if isinstance(plan, MovePlan):
            return moves.take_back(owner, plan, expect=expect).written, None
        self._supersedings.get().take_back(owner, plan, expect=expect)

        def now(target: WriteTarget) -> WrittenDocument:
            document = self._catalog.find(owner, target.path).document
            return WrittenDocument(target, document, hash_of(self._recovery.read(owner, target)), is_changed=True)

        other = plan.older if plan.newer.path == target.path else plan.newer
        return now(target), now(moves.target(owner, other))

    def _check_id(self, owner: Owner, name: str) -> None:
        """Raise an error that names similar ids, if the name is an id of no document."""
        if DOCUMENT_ID.fullmatch(name) and self._catalog.document(owner, name) is None:
            raise UnknownNames(self._catalog).error(owner, name)

    def _undone(
        self, owner: Owner, target: WriteTarget, now: bytes | None, last: UndoableWrite, expect: str | None
    ) -> UndoneWrite:
        if now is None and expect is not None:
            raise _gone(target)
        if now is not None and hash_of(now) != (expect or last.write.after):
            if document := self._catalog.find(owner, target.path).document:
                saw(foreign_of(document))
            saw(last.write.kept.sources if last.write.kept else ())
            raise _changed_since_write(target, now, last)
        written = self._recovery.put_back(owner, target, now, last.write)
        with suppress(LociError):  # the next undo sees that it was taken back
            self._history.drop(owner, last.key)
        return UndoneWrite(self._with_links(owner, written), last.write, last.older)

    def _with_links(self, owner: Owner, written: WrittenDocument) -> WrittenDocument:
        if written.document is None:
            return written
        try:
            return replace(written, links=self._own_links.of_document(owner, written.document))
        except LociError as error:  # the text is written all the same
            why = f"Its links could not be read ({error.what}): explore_links shows them later"
            return replace(written, unfinished=why)

    def _write(
        self,
        owner: Owner,
        target: WriteTarget,
        before: bytes | None,
        after: bytes | None,
        by: str,
        origin: Origin | None,
        *,
        is_whole: bool = False,
        move: str | None = None,
    ) -> WrittenDocument:
        """Replace the text, or remove it if `after` is None, and keep the old one."""
        last = self._recovery.last_change(owner, target) if before is not None else None
        of_text = origin
        if last and (last.foreign or last.is_unknown) and not (is_whole and _shares_no_line(before, after)):
            of_text = (origin or Origin()).with_sources(last.foreign) if last.foreign else None
        past = PastWrite(before, hash_of(after) or "", self._writer.now(), by, move, origin=of_text)
        if last:
            past = replace(past, changed_ns=last.ns, changed_on=last.day, kept=last.origin)
        key = self._history.keep(owner, target.path, past)
        kept = last if by == TAGS else None
        try:
            by_tool = kept is None
            written = self._recovery.write(owner, target, before, after, last=kept, by_tool=by_tool, origin=of_text)
        except Refused:
            self._history.drop(owner, key)
            raise
        self._wrote(owner, by, target.path, origin)
        return written

    def _changed_since_read(
        self, owner: Owner, target: WriteTarget, now: bytes | None, expect: str, change: Change | None = None
    ) -> Conflict | NotFound:
        """The error for the second of two writers. It shows the changes of the first one, else of this write."""
        if now is None:
            return _gone(target)
        if document := self._catalog.find(owner, target.path).document:
            saw(foreign_of(document))
        known = self._history.text(owner, target.path, expect)
        if known is not None:
            title, shown = "What changed since", _difference(known, now, "as you read it", "as it is now")
        elif change:
            try:
                wanted = change(target.path, now)
            except (NotFound, Refused) as error:
                title, shown = "Your write does not fit any more", str(error)
            else:
                title = "Your write would change this now"
                shown = _difference(now, wanted, "as it is now", "as you want it")
        else:
            title, shown = "Its text when it had that hash is not kept", ""
        return Conflict(
            f"{target.place} has changed since it had that hash; its hash is now {hash_of(now)}. {title}:\n{shown}",
            "Read it again, then decide what you want, and pass the new hash",
        )


def _shares_no_line(before: bytes | None, after: bytes | None) -> bool:
    """True if no line of the text stays, other than empty ones."""
    lines = {line.strip() for line in (before or b"").splitlines()} - {b""}
    return lines.isdisjoint(line.strip() for line in (after or b"").splitlines())


def _changed_since_write(target: WriteTarget, now: bytes, last: UndoableWrite) -> Conflict:
    shown = _difference(now, last.write.before, "as it is now", "as it was before that write")
    return Conflict(
        f"{target.place} has changed since a tool wrote it; its hash is now {hash_of(now)}. To undo that write would"
        f" change this now:\n{shown}",
        "To undo it anyway, call again with that hash as expected_hash",
    )


def _gone(target: WriteTarget) -> NotFound:
    return NotFound(f"{target.place} no longer exists", "Leave out expected_hash to create it", code="DOCUMENT_GONE")


def _difference(old: bytes | None, new: bytes | None, old_name: str, new_name: str) -> str:
    """A unified diff of two texts, cut if it is long."""
    from difflib import unified_diff

    from loci.markdown.markdown import decoded  # 0.1 s, which a search does not pay

    old_lines, new_lines = (decoded(text or b"")[0].split("\n") for text in (old, new))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old_lines, new_lines, strict=False)))
    if max(len(old_lines), len(new_lines)) - same > MOST_COMPARED:
        return f"--- {old_name}\n+++ {new_name}\nThey differ from line {same + 1} on.\n"
    lines = list(islice(unified_diff(old_lines, new_lines, old_name, new_name, lineterm=""), MOST_LINES + 1))
    shown = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines[:MOST_LINES]]
    return "\n".join([*shown, *(["… and more"] if len(lines) > MOST_LINES else []), ""])
