"""Moves documents with the links that lead to them: completely or not at all, and back again.

What is to be done is kept first. If the move is interrupted, the next start or the next call finishes it; if a text
cannot be written, all of it is taken back. Each step can be done twice, and acts on the texts as they are then.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace

from pydantic import TypeAdapter

from loci.authoring.edit_draft import missing
from loci.authoring.raw_text import raw_text
from loci.authoring.relinking import NewTargets, Relinking, relinked
from loci.authoring.write_recovery import LastChange, WriteRecovery, WrittenDocument
from loci.authoring.write_targets import WriteTarget, WriteTargets
from loci.core.errors import Conflict, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.core.stores import ABSENT, BlobStore, WriteLocks
from loci.core.trust import Origin
from loci.documents.catalog import Catalog
from loci.documents.document import LOCK_WAIT_SECONDS, Document, lock_name
from loci.documents.history import History, PastWrite, hash_of
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.link_resolution import DocumentNames, names_among
from loci.documents.link_table import file_name, names_in_link, names_of
from loci.documents.vacant_paths import Deletions
from loci.documents.whole_texts import UnfinishedWrite
from loci.graph.own_links import OwnLinks
from loci.markdown.encodings import require_text
from loci.markdown.links import Style, link_places
from loci.markdown.nouns import Mention, WrittenLinks

LOCK = "_moves"
"""No document's lock has that name."""
BY = "move_document"
FOLDER = "moves/"
MOST_LINKING = 500
"""Documents that one move may change."""
TRIES = 5
"""The most attempts at a document that an editor writes at the same moment."""

Rows = list[tuple[Style, str, str]]
"""The new targets of a document's links: their style, the target as it was written, and the new one."""


@dataclass(frozen=True, slots=True)
class Place:
    """A path, and the id of the root that its file lies in (None: its text is a blob)."""

    path: str
    root: str | None


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Everything that it takes to finish a move, or to take it back."""

    id: str
    source: Place
    goal: Place
    before: str
    """The hash of the document at its old path."""
    after: str
    """The hash of its text at the new path, with its own links rewritten."""
    former: tuple[str, ...]
    """The earlier paths that the document had at its old one."""
    own: Rows
    linking: tuple[tuple[Place, Rows], ...]
    """The other documents, and the new targets of their links."""
    is_back: bool = False
    """True: it is being taken back."""


@dataclass(frozen=True, slots=True)
class SupersedingPlan:
    """Everything that it takes to finish a write that supersedes another document, or to take it back."""

    id: str
    newer: Place
    older: Place
    successor: str
    """The name of the newer one, as the older one will say it. Empty: the older one says it already."""
    status: str | None
    """The status of the older one before; None if it has none."""
    is_back: bool = False
    """True: it is being taken back."""
    replaced: str | None = None
    """The hash of the newer one's text that is taken back."""
    sources: tuple[str, ...] = ()
    """The sources that the session of the writer had read of others. The older document will have a name from it."""


PLANS = TypeAdapter[MovePlan | SupersedingPlan](MovePlan | SupersedingPlan)


@dataclass(frozen=True, slots=True)
class MovedDocument:
    """A document after its move."""

    source: WriteTarget
    written: WrittenDocument
    """The document at its new path."""
    changed: tuple[str, ...]
    """The paths of the other documents whose links were rewritten."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Moves documents and takes moves back, one at a time for each owner."""

    catalog: Catalog
    writer: IndexWriter
    own_links: OwnLinks
    blobs: BlobStore
    locks: WriteLocks
    targets: WriteTargets
    recovery: WriteRecovery

    @property
    def history(self) -> History:
        return History(self.blobs)

    def move(self, owner: Owner, name: str, to: str, *, expect: str | None) -> MovedDocument:
        """Move the document and rewrite links. `expect` is the hash that it must have now."""
        source, goal = self.targets.find_itself(owner, name), self.targets.find_itself(owner, to)
        with self.alone(owner):
            content = self.recovery.read(owner, source)
            if content is None:
                raise missing(source.place)
            self.recovery.expect_whole(owner, source, content)
            require_text(source.place, content)
            if expect not in (None, hash_of(content)):
                raise Conflict(
                    f"{source.place} has changed since it had that hash; its hash is now {hash_of(content)}",
                    "Read it again, then decide, and pass the new hash",
                )
            is_there = self.recovery.read(owner, goal) is not None
            if is_there or goal.path == source.path or self.catalog.find(owner, goal.path).document:
                raise _already_there(goal)
            plan = self._plan(owner, source, goal, content)
            try:
                return self._carry_out(owner, plan)
            except Unavailable as error:
                advice = "The next write or the next start finishes the move: do not repeat it"
                raise Unavailable(f"The move is not complete yet: {error.what}", advice, code=error.code) from None

    def find(self, owner: Owner, id: str, path: str) -> MovePlan | SupersedingPlan | None:
        """The plan of that id, if the path is one of its two."""
        try:
            plan = PLANS.validate_json(self.blobs.read(owner, f"{FOLDER}{id}"))
        except NotFound:
            return None
        return plan if path in (one.path for one in _ends(plan)) else None

    def forget(self, owner: Owner, plan: MovePlan | SupersedingPlan) -> None:
        """Remove the plan, with the writes that were kept for it."""
        for place in _ends(plan):
            while write := self.history.of_move(owner, place.path, plan.id):
                self.history.drop(owner, write.key)
        self.blobs.remove(owner, f"{FOLDER}{plan.id}")

    def take_back(self, owner: Owner, plan: MovePlan, *, expect: str | None) -> MovedDocument:
        """Take back a move that is done. `expect` is the hash of the document now, if it changed since the move."""
        with self.alone(owner):
            source, goal = self.target(owner, plan.source), self.target(owner, plan.goal)
            if self.recovery.read(owner, source) is not None:
                raise _already_there(source)
            now = self.recovery.read(owner, goal)
            if now is None:
                advice = f"Bring it back first, with undo_write(path={goal.path!r})"
                raise NotFound(f"{goal.place} no longer exists", advice, code="DOCUMENT_GONE")
            if hash_of(now) not in (plan.after, expect):
                raise Conflict(
                    f"{goal.place} has changed since it was moved; its hash is now {hash_of(now)}",
                    "To move it back anyway, call again with that hash as expected_hash",
                )
            for place, _ in plan.linking:
                with suppress(NotFound):
                    text = self.recovery.stored_text(owner, self.target(owner, place))
                    if text.read() is not None:
                        text.stamp()  # Refused now, not halfway, if the file is write-protected
            return self._carry_out(owner, replace(plan, is_back=True))

    def finish(
        self, owner: Owner, note: UnfinishedWrite, supersede: Callable[[Owner, SupersedingPlan], object]
    ) -> bool:
        """Finish or take back an interrupted plan. False if another process does it now."""
        with self.locks.take(owner, LOCK, 0) as is_alone:
            if not is_alone or not self.recovery.journal.is_unfinished(owner, note):
                return False
            if plan := self.find(owner, note.move or "", note.path):
                with suppress(Refused, NotFound):  # it was taken back
                    self._steps(owner, plan) if isinstance(plan, MovePlan) else supersede(owner, plan)
            self.recovery.journal.end(owner, note)
            return True

    def _plan(self, owner: Owner, source: WriteTarget, goal: WriteTarget, content: bytes) -> MovePlan:
        """Find the documents with links that would lead elsewhere. `Refused` if a link cannot be written anew."""
        old = self.recovery.index(owner, source)
        if old is None:
            raise Refused(f"{source.place} is just being changed", "Try again", code="BUSY")
        id, root = self.catalog.find(owner, goal.path).id, goal.root and goal.root.id
        draft = self.writer.draft(id, goal.path, root, content, ABSENT)
        new, own_aliases = replace(draft.document, former=()), draft.mentions.aliases
        asked = names_of(old, own_aliases) | names_of(new, own_aliases)
        linking = [(one, said) for one, said in self.own_links.linking(owner, asked) if one.id != old.id]
        known = self._names(owner, [old, *(one for one, _ in linking if one.written_at)], asked, new.path)
        others = [one for one in known.documents.values() if one.id not in (old.id, id)]
        aliases = {one: some for one, some in known.aliases.items() if one not in (old.id, id)}
        paths = {one.id: one.path for one in others}
        relinking = Relinking(
            DocumentNames((*others, old), aliases | {old.id: own_aliases}),
            DocumentNames((*others, new), aliases | {id: own_aliases}),
            old,
            new,
            paths | {id: old.path},
            paths | {id: goal.path},
        )
        own = relinking.new_targets(old.written_at or old.path, new.path, content)
        found = [one for one, said in linking if _is_touched(one, said, relinking)]
        if len(found) > MOST_LINKING:
            raise Refused(
                f"{len(found):,} documents link to {source.place}, and one move may change {MOST_LINKING}",
                "Move it in an editor that rewrites links, or leave it where it is: links can name it by an alias",
                code="TOO_MANY_LINKS",
            )
        return MovePlan(
            id=random_id(),
            source=Place(source.path, source.root and source.root.id),
            goal=Place(goal.path, root),
            before=str(hash_of(content)),
            after=str(hash_of(relinked(new.path, content, own))),
            former=old.former,
            own=_rows(own),
            linking=tuple(self._linking(owner, relinking, found)),
        )

    def _names(self, owner: Owner, moved: list[Document], asked: set[str], goal: str) -> DocumentNames:
        """The names of the documents that have one of these names, or to which these documents link.

        All links of a document that has moved may need new targets, and these begin with the names of files.
        """
        links: list[tuple[str, Mention]] = []
        for one in moved:
            target = self.targets.at(owner, one.path, one.root)
            content = target and self.recovery.read(owner, target)
            places = link_places(one.path, raw_text(content).lines) if content else ()
            links += [(one.written_at or one.path, place.mention) for place in places]
        sources = {goal, *(one.path for one in moved)}
        for source, mention in links:
            asked |= {name for path in (source, *sources) for name in names_in_link(path, mention.target)}
        known = names_among(self.catalog, self.own_links.table, owner, asked)
        meant = (known.resolve(source, mention) for source, mention in links)
        files = {file_name(known.documents[one.document].path) for one in meant if one}
        return names_among(self.catalog, self.own_links.table, owner, asked | files)

    def _linking(self, owner: Owner, relinking: Relinking, found: list[Document]) -> Iterator[tuple[Place, Rows]]:
        for one in found:
            target = self.targets.at(owner, one.path, one.root)
            text = target and self.recovery.stored_text(owner, target)
            content = text and text.read()
            if not target or not text or content is None:
                continue
            try:
                self.recovery.expect_whole(owner, target, content)
                new = relinking.new_targets(one.written_at or one.path, one.path, content)
                text.stamp()  # Refused now, not halfway, if the file is write-protected
            except Refused as error:
                what = f"The links in {one.path} cannot be rewritten: {error.what}"
                raise Refused(what, error.resolution, code=error.code) from None
            if new:
                yield Place(one.path, one.root), _rows(new)

    def _carry_out(self, owner: Owner, plan: MovePlan) -> MovedDocument:
        """Keep the plan and carry it out."""
        self.keep(owner, plan)
        note = self.recovery.journal.begin(owner, plan.goal.path, plan.goal.root, plan.id)
        try:
            unfinished = self._steps(owner, plan)
        except (Refused, NotFound):  # it was taken back
            self.recovery.journal.end(owner, note)
            raise
        self.recovery.journal.end(owner, note)
        ends = [self.target(owner, place) for place in (plan.source, plan.goal)]
        source, goal = reversed(ends) if plan.is_back else ends
        document = self.catalog.find(owner, goal.path).document
        hash = hash_of(self.recovery.read(owner, goal)) or plan.after
        written = WrittenDocument(goal, document, hash, True, unfinished)
        return MovedDocument(source, written, tuple(one.path for one, _ in plan.linking))

    def _steps(self, owner: Owner, plan: MovePlan) -> str | None:
        """Do the rest of the move, or of its undoing; return the documents that could not be indexed.

        If a text cannot be written, take all back. A document that cannot be written then keeps its new links.
        """
        unfinished: list[str | None] = []
        try:
            if not plan.is_back:
                unfinished.append(self._move_text(owner, plan))
                unfinished += [self._relink(owner, place, new, plan) for place, new in plan.linking]
                return next(filter(None, unfinished), None)
        except (Refused, NotFound):
            plan = replace(plan, is_back=True)
            self.keep(owner, plan)
            self._steps(owner, plan)
            raise
        for place, new in reversed(plan.linking):
            with suppress(Refused, NotFound):
                unfinished.append(self._relink(owner, place, new, plan))
        unfinished.append(self._move_text(owner, plan))
        self.forget(owner, plan)
        return next(filter(None, unfinished), None)

    def _move_text(self, owner: Owner, plan: MovePlan) -> str | None:
        """Move the document's text, there or back."""
        source, goal = self.target(owner, plan.source), self.target(owner, plan.goal)
        former = plan.former if plan.is_back else (source.path, *(one for one in plan.former if one != goal.path))
        here, to = (goal, source) if plan.is_back else (source, goal)
        by_lock = {lock_name(one.path): one for one in (source, goal)}
        with ExitStack() as locks:
            for name in sorted(by_lock):  # in one order, so that two never wait for each other
                locks.enter_context(self.recovery.locked(owner, by_lock[name]))
            old, new = self.recovery.stored_text(owner, here), self.recovery.stored_text(owner, to)
            now, there = old.read(), new.read()
            if now is None:
                self.recovery.index(owner, here)
                self.recovery.index(owner, to, former=former)
                return None
            if plan.is_back and there is not None and hash_of(now) != plan.after:
                return None  # somebody else's document
            if not plan.is_back and hash_of(now) != plan.before:
                raise Conflict(f"{source.place} was changed while it was moved", "Read it again, then decide")
            if not plan.is_back and there is not None and hash_of(there) != plan.after:
                raise _already_there(goal)
            unfinished = None
            if there is None:
                content, last = self._content(owner, plan, now), self.recovery.last_change(owner, here)
                if not plan.is_back:
                    self._note(owner, goal.path, None, content, plan.id, last)
                put = self.recovery.write(owner, to, None, content, former=former, last=last)
                unfinished = put.unfinished
            if not plan.is_back:
                if document := self.catalog.find(owner, source.path).document:
                    Deletions(self.catalog.records).note(owner, document, self.writer.now())
                self._note(owner, source.path, now, None, plan.id, self.recovery.last_change(owner, source))
            done = self.recovery.write(owner, here, now, None)
            return unfinished or done.unfinished

    def _content(self, owner: Owner, plan: MovePlan, now: bytes) -> bytes:
        """The text of the document at the other place. A text that did not change since comes back byte for byte."""
        if not plan.is_back:
            return relinked(plan.goal.path, now, _targets(plan.own))
        kept = self.history.of_move(owner, plan.source.path, plan.id)
        if kept and kept.write.before is not None and hash_of(now) == plan.after:
            return kept.write.before
        return relinked(plan.source.path, now, _targets(plan.own, is_back=True))

    def _relink(self, owner: Owner, place: Place, new: Rows, plan: MovePlan) -> str | None:
        """Rewrite the links of a document as it is now, or put back its text from before the move."""
        targets = _targets(new, is_back=plan.is_back)
        return self.rewrite(owner, place, lambda now: relinked(place.path, now, targets), plan, BY)

    def rewrite(
        self,
        owner: Owner,
        place: Place,
        change: Callable[[bytes], bytes],
        plan: MovePlan | SupersedingPlan,
        by: str,
        sources: Sequence[str] = (),
    ) -> str | None:
        """Change a document as it is now, or put back its text from before the plan; return what could not be done.

        If the document changed since, the change is made to its text, also to take it back. `sources`: those of the
        texts of others that the change may bring in.
        """
        target = self.target(owner, place)
        with self.recovery.locked(owner, target):
            for left in reversed(range(TRIES)):
                now = self.recovery.read(owner, target)
                last = self.history.of_move(owner, place.path, plan.id) if plan.is_back else None
                if now is None or (plan.is_back and last is None):
                    return None
                previous = last.write.before if last else None
                stays = self.recovery.last_change(owner, target)
                if last and previous is not None and hash_of(now) == last.write.after:
                    done = self.recovery.write(
                        owner, target, now, previous, last=replace(stays, origin=last.write.kept)
                    )
                    self.history.drop(owner, last.key)
                    return done.unfinished
                after = change(now)
                if now in (previous, after):
                    return None
                origin = (stays.origin or Origin()).with_sources([*stays.foreign, *sources]) if sources else None
                id = None if plan.is_back else plan.id
                key = self._note(owner, place.path, now, after, id, stays, by, origin)
                try:
                    return self.recovery.write(owner, target, now, after, last=stays, origin=origin).unfinished
                except Refused as error:
                    self.history.drop(owner, key)
                    if not left or not isinstance(error, Conflict):  # an editor wrote it meanwhile
                        raise
        return None

    def _note(
        self,
        owner: Owner,
        path: str,
        before: bytes | None,
        after: bytes | None,
        move: str | None,
        last: LastChange,
        by: str = BY,
        origin: Origin | None = None,
    ) -> str:
        # A move makes no text: the one that it leads elsewhere keeps its origin.
        kept = last.origin
        write = PastWrite(before, hash_of(after) or "", self.writer.now(), by, move, origin=origin or kept, kept=kept)
        return self.history.keep(owner, path, write)

    def target(self, owner: Owner, place: Place) -> WriteTarget:
        """The target of a place. `NotFound` if its root is no longer known."""
        target = self.targets.at(owner, place.path, place.root)
        if target is None:
            advice = "Ingest it again with: loci ingest FOLDER"
            raise NotFound(f"Loci no longer knows the folder of {place.path}", advice, code="ROOT_NOT_FOUND")
        return target

    @contextmanager
    def alone(self, owner: Owner) -> Generator[None]:
        """Hold the lock on changes of several documents. `Refused` if another writer keeps it for too long."""
        with self.locks.take(owner, LOCK, LOCK_WAIT_SECONDS) as is_alone:
            if not is_alone:
                raise Refused("Another document is being moved or superseded", "Try again in a minute", code="BUSY")
            yield

    def keep(self, owner: Owner, plan: MovePlan | SupersedingPlan) -> None:
        """Store the plan, until the move is taken back."""
        self.blobs.write(owner, f"{FOLDER}{plan.id}", PLANS.dump_json(plan))


def _is_touched(document: Document, said: WrittenLinks, relinking: Relinking) -> bool:
    """True if a link of the document leads to the moved one before or after the move."""
    source = document.written_at or document.path
    for mention in said.mentions:
        before, after = (names.resolve(source, mention) for names in (relinking.before, relinking.after))
        if before and (before.document == relinking.old.id or (after and after.document == relinking.new.id)):
            return True
    return False


def _ends(plan: MovePlan | SupersedingPlan) -> tuple[Place, Place]:
    return (plan.source, plan.goal) if isinstance(plan, MovePlan) else (plan.newer, plan.older)


def _rows(new: NewTargets) -> Rows:
    return [(style, written, target) for (style, written), target in new.items()]


def _targets(rows: Rows, *, is_back: bool = False) -> NewTargets:
    """The new targets of the links, or, to undo a move, their old ones."""
    return {(style, target if is_back else written): written if is_back else target for style, written, target in rows}


def _already_there(target: WriteTarget) -> Refused:
    """The error if something is where a document is to go."""
    advice = "Choose another path, or move that one away"
    return Refused(f"{target.place} exists already", advice, code="ALREADY_EXISTS")
