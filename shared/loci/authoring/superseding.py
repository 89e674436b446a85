"""Writes a document that supersedes another, and marks that one: both, or neither, and one undo takes back both.

The plan is kept first. If the write is interrupted, the next start or the next call finishes it or takes it back.
"""

import posixpath
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from loci.authoring.edit_draft import EditDraft
from loci.authoring.front_fields import with_fields, with_value
from loci.authoring.moving import Moves, Place, SupersedingPlan
from loci.authoring.raw_text import raw_text
from loci.authoring.write_recovery import WrittenDocument
from loci.authoring.write_targets import WriteTarget
from loci.core.errors import Conflict, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.core.stores import ABSENT
from loci.documents.document import Document
from loci.documents.history import hash_of
from loci.documents.link_resolution import DocumentNames, names_among
from loci.documents.link_table import names_in_link
from loci.documents.supersession import Supersession
from loci.documents.validity import STATUSES
from loci.markdown.encodings import require_text
from loci.markdown.front_matter import read_front_matter
from loci.markdown.nouns import Mention, Relation

BY = "write_document"
LAST_DAY = "9999-12-31"
NOT_IN_A_NAME = frozenset("[]|#^,\"'\\")
"""The characters that no name in a field can have."""
LONGEST_CHAIN = 100
"""Documents that supersede each other, one after the other."""
Change = Callable[[str, bytes | None], bytes]
Write = Callable[[WriteTarget, Change, str], WrittenDocument]
"""Makes the change to a document, as a part of the plan of that id."""


@dataclass(frozen=True, slots=True)
class Supersedings:
    """Writes documents that supersede others, and takes such writes back."""

    moves: Moves
    supersession: Supersession

    def write(
        self, owner: Owner, name: str, supersedes: str, draft: EditDraft, write: Write, sources: tuple[str, ...] = ()
    ) -> WrittenDocument:
        """Write the draft with a link to the document that it supersedes, and mark that one.

        `sources`: what the session of the writer had read of others.
        """
        moves, recovery = self.moves, self.moves.recovery
        newer, older = moves.targets.find(owner, name), moves.targets.find_itself(owner, supersedes)
        with moves.alone(owner):
            text = self._older_text(owner, newer, older)
            old, young = recovery.index(owner, older), self._newer(owner, newer)
            if old is None:
                raise Refused(f"{older.place} is just being changed", "Try again", code="BUSY")
            self._check(owner, young, old)
            is_said = young.id in self._linked(owner, old, text, "superseded_by", young)
            plan = SupersedingPlan(
                random_id(),
                Place(newer.path, newer.root and newer.root.id),
                Place(older.path, older.root and older.root.id),
                "" if is_said else self._name_of(owner, young, old),
                read_front_matter(raw_text(text).lines).first("status"),
                sources=sources,
            )
            marked(older.path, text, plan)  # Refused now, not halfway
            recovery.stored_text(owner, older).stamp()

            def change(path: str, before: bytes | None) -> bytes:
                if before is not None and draft.mode == "create" and linking(path, draft.apply(path, None)) == before:
                    return before
                return linking(path, draft.apply(path, before))

            def linking(path: str, after: bytes) -> bytes:
                if old.id in self._linked(owner, young, after, "supersedes", old):
                    return after
                linked = with_value(path, after, "supersedes", self._name_of(owner, old, young))
                if old.id not in self._linked(owner, young, linked, "supersedes", old):
                    advice = f"Write `supersedes: {old.id}` into its front matter yourself"
                    raise Refused(f"{path} has no place for the link to {old.path}", advice, code="BAD_FRONT_MATTER")
                return linked

            return self._carry_out(owner, plan, lambda: write(newer, change, plan.id))

    def _carry_out(self, owner: Owner, plan: SupersedingPlan, write: Callable[[], WrittenDocument]) -> WrittenDocument:
        journal = self.moves.recovery.journal
        self.moves.keep(owner, plan)
        note = journal.begin(owner, plan.newer.path, plan.newer.root, plan.id)
        try:
            written = write()
            unfinished = self._mark(owner, plan)
        except (Refused, NotFound):  # nothing was written, or it was taken back
            self.moves.forget(owner, plan)
            journal.end(owner, note)
            raise
        except Unavailable as error:
            advice = "The next write or the next start finishes it: do not repeat it"
            raise Unavailable(f"The write is not complete yet: {error.what}", advice, code=error.code) from None
        journal.end(owner, note)
        return replace(written, unfinished=written.unfinished or unfinished)

    def take_back(self, owner: Owner, plan: SupersedingPlan, *, expect: str | None) -> None:
        """Take back both. `expect` is the hash of the newer document now, if it changed since."""
        moves, recovery = self.moves, self.moves.recovery
        with moves.alone(owner):
            newer, older = (moves.target(owner, place) for place in (plan.newer, plan.older))
            now, last = recovery.read(owner, newer), moves.history.of_move(owner, newer.path, plan.id)
            if last and now is not None and hash_of(now) not in (last.write.after, expect):
                raise Conflict(
                    f"{newer.place} has changed since it superseded {older.place}; its hash is now {hash_of(now)}",
                    "To undo that anyway, call again with that hash as expected_hash",
                )
            if recovery.read(owner, older) is not None:
                recovery.stored_text(owner, older).stamp()  # Refused now, not halfway
            back = replace(plan, is_back=True, replaced=hash_of(now))
            moves.keep(owner, back)
            note = recovery.journal.begin(owner, newer.path, plan.newer.root, plan.id)
            try:
                self._unmark(owner, back)
            except (Refused, NotFound):  # nothing was taken back
                moves.keep(owner, plan)
                recovery.journal.end(owner, note)
                raise
            recovery.journal.end(owner, note)

    def finish(self, owner: Owner, plan: SupersedingPlan) -> None:
        """Finish an interrupted write, or take it back if it had not changed the newer document."""
        newer = self.moves.target(owner, plan.newer)
        last = self.moves.history.of_move(owner, newer.path, plan.id)
        if plan.is_back:
            self._unmark(owner, plan)
        elif last and self.moves.recovery.read(owner, newer) != last.write.before:
            self._mark(owner, plan)
        else:
            self.moves.forget(owner, plan)

    def _mark(self, owner: Owner, plan: SupersedingPlan) -> str | None:
        """Mark the older document. If that is refused, take the newer one back."""
        try:
            mark = partial(marked, plan.older.path, plan=plan)
            return self.moves.rewrite(owner, plan.older, mark, plan, BY, plan.sources)
        except (Refused, NotFound):
            now = self.moves.recovery.read(owner, self.moves.target(owner, plan.newer))
            back = replace(plan, is_back=True, replaced=hash_of(now))
            self.moves.keep(owner, back)
            self._unmark(owner, back)
            raise

    def _unmark(self, owner: Owner, plan: SupersedingPlan) -> None:
        """Put back the newer document, then the older one. What has changed meanwhile loses only its mark."""
        moves, recovery = self.moves, self.moves.recovery
        newer = moves.target(owner, plan.newer)
        with recovery.locked(owner, newer):
            now, last = recovery.read(owner, newer), moves.history.of_move(owner, newer.path, plan.id)
            if last and now is not None and hash_of(now) == plan.replaced:
                recovery.put_back(owner, newer, now, last.write)
        with suppress(Refused, NotFound):
            moves.rewrite(owner, plan.older, lambda now: unmarked(plan.older.path, now, plan), plan, BY)
        moves.forget(owner, plan)

    def _older_text(self, owner: Owner, newer: WriteTarget, older: WriteTarget) -> bytes:
        if newer.path == older.path:
            what = f"{newer.place} cannot supersede itself"
            raise Refused(what, "Write the new version to another path, or leave out supersedes", code="BAD_ARGUMENTS")
        text = self.moves.recovery.read(owner, older)
        if text is None:
            advice = "Give the id or the path of the document that is to be superseded"
            raise NotFound(f"There is no document {older.place}", advice, code="NO_SUCH_DOCUMENT")
        self.moves.recovery.expect_whole(owner, older, text)
        require_text(older.place, text)
        return text

    def _newer(self, owner: Owner, newer: WriteTarget) -> Document:
        """The newer document, or what is known of it before it is there."""
        found = self.moves.catalog.find(owner, newer.path)
        name, _ = posixpath.splitext(posixpath.basename(newer.path))
        root = newer.root and newer.root.id
        return found.document or Document(found.id, newer.path, root, name, (), None, "", 0, 0, 0, None, "")

    def _check(self, owner: Owner, young: Document, old: Document) -> None:
        """Raise `Refused` if another document superseded the older one, or if it supersedes the newer one."""

        def successor(document: Document) -> Document | None:
            return self.supersession.successors(owner, [document], LAST_DAY).get(document.id)

        other = successor(old)
        if other and other.id != young.id:
            advice = f"Supersede {other.path}, or take its link to {old.path} away first"
            raise Refused(f"{old.path} is superseded by {other.path} already", advice, code="ALREADY_SUPERSEDED")
        later = successor(young)
        for _ in range(LONGEST_CHAIN):
            if later and later.id == old.id:
                what = f"{old.path} supersedes {young.path}, so that one cannot supersede it"
                raise Refused(what, "Take its link away first, or write to a new path", code="SUPERSEDES_ITSELF")
            later = later and successor(later)

    def _linked(self, owner: Owner, writer: Document, text: bytes, relation: Relation, other: Document) -> set[str]:
        """The ids of the documents to which this text of a document has links of the relation."""
        said = self.moves.writer.draft(writer.id, writer.path, writer.root, text, ABSENT).mentions.mentions
        asked = [one for one in said if one.relation == relation]
        names = self._names(owner, writer, other, [one.target for one in asked]) if asked else None
        found = (names.resolve(writer.path, one) for one in asked) if names else ()
        return {one.document for one in found if one}

    def _name_of(self, owner: Owner, document: Document, source: Document) -> str:
        """The shortest name for a field of the source that leads to this document and to no other."""
        below, suffix = posixpath.splitext(document.path.partition("/")[2])
        below = below if suffix.lower() == ".md" else f"{below}{suffix}"
        wanted = [posixpath.basename(below), below, f"/{below}", document.id]
        names = self._names(owner, source, document, wanted)
        for one in wanted:
            if one.strip("/") and not NOT_IN_A_NAME.intersection(one):
                found = names.resolve(source.path, Mention(one, "name", "references", 0, ""))
                if found and found.document == document.id and not found.others:
                    return one
        what = f"No name in {source.path} leads to {document.path} alone"
        raise Refused(what, "Move one of the documents that share the name", code="BAD_PATH")

    def _names(self, owner: Owner, source: Document, other: Document, targets: list[str]) -> DocumentNames:
        asked = {name for one in targets for name in names_in_link(source.path, one)}
        names = names_among(self.moves.catalog, self.moves.own_links.table, owner, asked)
        for one in (source, other):
            if one.id not in names.documents:
                names.replace(one.id, one)
        return names


def marked(path: str, content: bytes, plan: SupersedingPlan) -> bytes:
    """The text of the older document with the mark that says what superseded it."""
    return with_fields(path, content, _mark_of(plan))


def unmarked(path: str, content: bytes, plan: SupersedingPlan) -> bytes:
    """The text without that mark."""
    before = {"superseded_by": None, "status": plan.status}
    return with_fields(path, content, {name: before[name] for name in _mark_of(plan)})


def _mark_of(plan: SupersedingPlan) -> dict[str, str | None]:
    """The fields that the older document lacks."""
    is_superseded = (plan.status or "").lower().startswith(STATUSES["superseded"])
    mark = {"superseded_by": plan.successor, "status": "" if is_superseded else "superseded"}
    return {name: value for name, value in mark.items() if value}
