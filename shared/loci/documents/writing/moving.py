"""Moves documents with the links that lead to them: completely or not at all, and back again.

What is to be done is kept first. If the move is interrupted, the next start or the next call finishes it; if a text
cannot be written, all of it is taken back. Each step can be done twice, and acts on the texts as they are then.
"""

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from loci.core.errors import Conflict, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.core.json import iso
from loci.core.stores import ABSENT, BlobStore, WriteLocks
from loci.documents.catalog import Catalog
from loci.documents.content.encodings import require_text
from loci.documents.content.link_places import Style
from loci.documents.document import LOCK_WAIT_SECONDS, Document
from loci.documents.document_ids import lock_name
from loci.documents.document_links import NO_LINKS
from loci.documents.graph.graph import Graph
from loci.documents.graph.graphs import Graphs
from loci.documents.graph.link_resolution import DocumentNames
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.writing.authoring import missing
from loci.documents.writing.deletions import Deletions
from loci.documents.writing.history import History, PastWrite, hash_of
from loci.documents.writing.relinking import NewTargets, Relinking, last_name, last_names, relinked
from loci.documents.writing.write_journal import UnfinishedWrite
from loci.documents.writing.write_recovery import WriteRecovery
from loci.documents.writing.write_targets import WriteTarget, WriteTargets

LOCK = "_moves"
"""No document's lock has that name."""
BY = "move_document"
FOLDER = "moves/"
MOST_LINKING = 500
"""Documents that one move may change."""
TRIES = 5
"""For a document that an editor writes at the same moment."""


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
    """Its hash at the new one, with its own links rewritten."""
    former: tuple[str, ...]
    """The earlier paths that the document had at its old one."""
    own: Rows
    linking: tuple[tuple[Place, Rows], ...]
    """The other documents, and the new targets of their links."""
    is_back: bool = False
    """True: it is being taken back."""


@dataclass(frozen=True, slots=True)
class MovedDocument:
    """A document after its move."""

    source: WriteTarget
    goal: WriteTarget
    document: Document | None
    """None: it is not indexed yet."""
    hash: str
    changed: tuple[str, ...]
    """The paths of the other documents whose links were rewritten."""
    unfinished: str | None = None


class Moves:
    """Moves documents and takes moves back, one at a time for each owner."""

    def __init__(
        self,
        catalog: Catalog,
        writer: IndexWriter,
        graphs: Graphs,
        blobs: BlobStore,
        locks: WriteLocks,
        targets: WriteTargets,
        recovery: WriteRecovery,
        deletions: Deletions,
        clock: Callable[[], float],
    ) -> None:
        self._catalog = catalog
        self._writer = writer
        self._graphs = graphs
        self._blobs = blobs
        self._locks = locks
        self._targets = targets
        self._recovery = recovery
        self._deletions = deletions
        self._clock = clock
        self._history = History(blobs)

    def move(self, owner: Owner, name: str, to: str, *, expect: str | None) -> MovedDocument:
        """Move the document and rewrite links. `expect` is the hash that it must have now."""
        source, goal = self._targets.find_itself(owner, name), self._targets.find_itself(owner, to)
        with self._alone(owner):
            content = self._recovery.stored_text(owner, source).read()
            if content is None:
                raise missing(source.place)
            self._recovery.expect_whole(owner, source, content)
            require_text(source.place, content)
            if expect not in (None, hash_of(content)):
                raise Conflict(
                    f"{source.place} has changed since it had that hash; its hash is now {hash_of(content)}",
                    "Read it again, then decide, and pass the new hash",
                )
            is_there = self._recovery.stored_text(owner, goal).read() is not None
            if is_there or goal.path == source.path or self._catalog.find(owner, goal.path).document:
                raise _already_there(goal)
            plan = self._plan(owner, source, goal, content)
            try:
                unfinished = self._carry_out(owner, plan)
            except Unavailable as error:
                advice = "The next write or the next start finishes the move: do not repeat it"
                raise Unavailable(f"The move is not complete yet: {error.what}", advice, code=error.code) from None
        return self._moved(owner, plan, source, goal, unfinished)

    def find(self, owner: Owner, id: str, path: str) -> MovePlan | None:
        """The plan of the move, if the path is its old or its new one."""
        plan = self._kept(owner, id)
        return plan if plan and path in (plan.source.path, plan.goal.path) else None

    def take_back(self, owner: Owner, plan: MovePlan, *, expect: str | None) -> MovedDocument:
        """Take back a move that is done. `expect` is the hash of the document now, if it changed since the move."""
        with self._alone(owner):
            source, goal = self._target(owner, plan.source), self._target(owner, plan.goal)
            if self._recovery.stored_text(owner, source).read() is not None:
                raise _already_there(source)
            now = self._recovery.stored_text(owner, goal).read()
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
                    text = self._recovery.stored_text(owner, self._target(owner, place))
                    if text.read() is not None:
                        text.stamp()  # Refused now, not halfway, if the file is write-protected
            unfinished = self._carry_out(owner, replace(plan, is_back=True))
        return self._moved(owner, plan, goal, source, unfinished)

    def finish(self, owner: Owner, note: UnfinishedWrite) -> bool:
        """Finish or take back an interrupted move. False if another process does it now."""
        with self._locks.take(owner, LOCK, 0) as is_alone:
            if not is_alone or not self._recovery.journal.is_unfinished(owner, note):
                return False
            if plan := self._kept(owner, note.move or ""):
                with suppress(Refused, NotFound):  # it was taken back
                    self._back(owner, plan) if plan.is_back else self._forward(owner, plan)
            self._recovery.journal.end(owner, note)
            return True

    def _moved(
        self, owner: Owner, plan: MovePlan, source: WriteTarget, goal: WriteTarget, unfinished: str | None
    ) -> MovedDocument:
        document = self._catalog.find(owner, goal.path).document
        hash = hash_of(self._recovery.stored_text(owner, goal).read()) or plan.after
        return MovedDocument(source, goal, document, hash, tuple(one.path for one, _ in plan.linking), unfinished)

    def _plan(self, owner: Owner, source: WriteTarget, goal: WriteTarget, content: bytes) -> MovePlan:
        """Find the documents with links that would lead elsewhere. `Refused` if a link cannot be written anew."""
        old = self._recovery.index(owner, source)
        if old is None:
            raise Refused(f"{source.place} is just being changed", "Try again", code="BUSY")
        graph = self._graphs.of(owner)
        id, root = self._catalog.find(owner, goal.path).id, goal.root and goal.root.id
        draft = self._writer.draft(id, goal.path, root, content, ABSENT)
        new, own_aliases = replace(draft.document, former=()), draft.mentions.aliases
        aliases = {one: said.aliases for one, said in graph.source.written.items()} | {id: own_aliases}
        others = [one for one in graph.documents.values() if one.id != old.id]
        relinking = Relinking(
            DocumentNames((*others, old), aliases | {old.id: own_aliases}),
            DocumentNames((*others, new), aliases),
            old,
            new,
            {one.id: one.path for one in others},
        )
        own = relinking.new_targets(old.written_at or old.path, new.path, content)
        found = list(_touched(graph, relinking, own_aliases))
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

    def _linking(self, owner: Owner, relinking: Relinking, found: list[Document]) -> Iterator[tuple[Place, Rows]]:
        for one in found:
            target = self._targets.at(owner, one.path, one.root)
            text = target and self._recovery.stored_text(owner, target)
            content = text and text.read()
            if not target or not text or content is None:
                continue
            try:
                self._recovery.expect_whole(owner, target, content)
                new = relinking.new_targets(one.written_at or one.path, one.path, content)
                text.stamp()  # Refused now, not halfway, if the file is write-protected
            except Refused as error:
                what = f"The links in {one.path} cannot be rewritten: {error.what}"
                raise Refused(what, error.resolution, code=error.code) from None
            if new:
                yield Place(one.path, one.root), _rows(new)

    def _carry_out(self, owner: Owner, plan: MovePlan) -> str | None:
        """Keep the plan and do what it says; return what could not be indexed."""
        self._keep(owner, plan)
        note = self._recovery.journal.begin(owner, plan.goal.path, plan.goal.root, plan.id)
        try:
            unfinished = self._back(owner, plan) if plan.is_back else self._forward(owner, plan)
        except (Refused, NotFound):  # it was taken back
            self._recovery.journal.end(owner, note)
            raise
        self._recovery.journal.end(owner, note)
        return unfinished

    def _forward(self, owner: Owner, plan: MovePlan) -> str | None:
        """Do what is left of the move. If a text cannot be written, take all back."""
        try:
            unfinished = [self._move_text(owner, plan)]
            for place, new in plan.linking:
                unfinished.append(self._relink(owner, place, new, plan.id))
        except (Refused, NotFound):
            plan = replace(plan, is_back=True)
            self._keep(owner, plan)
            self._back(owner, plan)
            raise
        return next(filter(None, unfinished), None)

    def _back(self, owner: Owner, plan: MovePlan) -> str | None:
        """Do what is left to take the move back. A document that cannot be written keeps its new links."""
        unfinished: list[str | None] = []
        for place, new in reversed(plan.linking):
            with suppress(Refused, NotFound):
                unfinished.append(self._link_back(owner, place, new, plan.id))
        unfinished.append(self._move_text(owner, plan))
        for place in (plan.source, plan.goal):
            while write := self._history.of_move(owner, place.path, plan.id):
                self._history.drop(owner, write.key)
        self._blobs.remove(owner, f"{FOLDER}{plan.id}")
        return next(filter(None, unfinished), None)

    def _move_text(self, owner: Owner, plan: MovePlan) -> str | None:
        """Move the document's text, there or back."""
        source, goal = self._target(owner, plan.source), self._target(owner, plan.goal)
        former = plan.former if plan.is_back else (source.path, *(one for one in plan.former if one != goal.path))
        here, to = (goal, source) if plan.is_back else (source, goal)
        with self._both(owner, source, goal):
            old, new = self._recovery.stored_text(owner, here), self._recovery.stored_text(owner, to)
            now, there = old.read(), new.read()
            if now is None:
                self._recovery.index(owner, here)
                self._recovery.index(owner, to, former=former)
                return None
            if plan.is_back and there is not None and hash_of(now) != plan.after:
                return None  # somebody else's document
            if not plan.is_back and hash_of(now) != plan.before:
                raise Conflict(f"{source.place} was changed while it was moved", "Read it again, then decide")
            if not plan.is_back and there is not None and hash_of(there) != plan.after:
                raise _already_there(goal)
            unfinished = None
            if there is None:
                content, stamp = self._content(owner, plan, now), old.stamp()
                if not plan.is_back:
                    self._note(owner, goal.path, None, content, plan.id)
                done = self._recovery.write(owner, to, lambda text: text.write(content, None, stamp), former)
                unfinished = done.unfinished
            if not plan.is_back:
                if document := self._catalog.find(owner, source.path).document:
                    self._deletions.note(owner, document, iso(self._clock()))
                self._note(owner, source.path, now, None, plan.id)
            done = self._recovery.write(owner, here, lambda text: text.remove(now))
            return unfinished or done.unfinished

    def _content(self, owner: Owner, plan: MovePlan, now: bytes) -> bytes:
        """The text of the document at the other place. A text that did not change since comes back byte for byte."""
        if not plan.is_back:
            return relinked(plan.goal.path, now, _targets(plan.own))
        kept = self._history.of_move(owner, plan.source.path, plan.id)
        if kept and kept.write.before is not None and hash_of(now) == plan.after:
            return kept.write.before
        return relinked(plan.source.path, now, _targets(plan.own, is_back=True))

    def _relink(self, owner: Owner, place: Place, new: Rows, move: str) -> str | None:
        """Rewrite the links of a document as it is now."""
        target = self._target(owner, place)
        with self._recovery.locked(owner, target):
            for left in reversed(range(TRIES)):
                now = self._recovery.stored_text(owner, target).read()
                after = None if now is None else relinked(place.path, now, _targets(new))
                if now is None or after is None or after == now:
                    break
                try:
                    return self._replace(owner, target, now, after, move)
                except Conflict:
                    if not left:
                        raise
        return None

    def _link_back(self, owner: Owner, place: Place, new: Rows, move: str) -> str | None:
        """Put back the text from before the move; if the document changed since, only its links."""
        target = self._target(owner, place)
        with self._recovery.locked(owner, target):
            now = self._recovery.stored_text(owner, target).read()
            last = self._history.of_move(owner, place.path, move)
            if now is None or last is None:
                return None
            previous = last.write.before
            if previous is not None and hash_of(now) == last.write.after:
                done = self._recovery.write(owner, target, lambda text: text.write(previous, now))
                self._history.drop(owner, last.key)
                return done.unfinished
            after = now if now == previous else relinked(place.path, now, _targets(new, is_back=True))
            return None if after == now else self._replace(owner, target, now, after)

    def _replace(
        self, owner: Owner, target: WriteTarget, now: bytes, after: bytes, move: str | None = None
    ) -> str | None:
        key = self._note(owner, target.path, now, after, move)
        try:
            return self._recovery.write(owner, target, lambda text: text.write(after, now)).unfinished
        except Refused:
            self._history.drop(owner, key)
            raise

    def _note(self, owner: Owner, path: str, before: bytes | None, after: bytes | None, move: str | None) -> str:
        write = PastWrite(before, hash_of(after) or "", iso(self._clock()), BY, move)
        return self._history.keep(owner, path, write)

    def _target(self, owner: Owner, place: Place) -> WriteTarget:
        """The target of a place. `NotFound` if its root is no longer known."""
        target = self._targets.at(owner, place.path, place.root)
        if target is None:
            advice = "Ingest it again with: loci ingest FOLDER"
            raise NotFound(f"Loci no longer knows the folder of {place.path}", advice, code="ROOT_NOT_FOUND")
        return target

    @contextmanager
    def _alone(self, owner: Owner) -> Generator[None]:
        with self._locks.take(owner, LOCK, LOCK_WAIT_SECONDS) as is_alone:
            if not is_alone:
                raise Refused("Another document is being moved", "Try again in a minute", code="BUSY")
            yield

    @contextmanager
    def _both(self, owner: Owner, *targets: WriteTarget) -> Generator[None]:
        """Hold the locks of both documents, always in the same order."""
        first, second = sorted(targets, key=lambda one: lock_name(one.path))
        with self._recovery.locked(owner, first):
            if lock_name(first.path) == lock_name(second.path):
                yield
                return
            with self._recovery.locked(owner, second):
                yield

    def _keep(self, owner: Owner, plan: MovePlan) -> None:
        """Store the plan, until the move is taken back."""
        self._blobs.write(owner, f"{FOLDER}{plan.id}", json.dumps(asdict(plan)).encode())

    def _kept(self, owner: Owner, id: str) -> MovePlan | None:
        try:
            value: dict[str, Any] = json.loads(self._blobs.read(owner, f"{FOLDER}{id}"))
        except NotFound:
            return None
        value["source"], value["goal"] = Place(**value["source"]), Place(**value["goal"])
        value["former"] = tuple(value["former"])
        value["linking"] = tuple((Place(**place), rows) for place, rows in value["linking"])
        return MovePlan(**value)


def _touched(graph: Graph, relinking: Relinking, aliases: tuple[str, ...]) -> Iterator[Document]:
    """The other documents with a link that leads to the document before or after the move."""
    names = last_names([relinking.old, relinking.new], aliases) | {""}
    for id, document in graph.documents.items():
        source = document.written_at or document.path
        for mention in graph.source.written.get(id, NO_LINKS).mentions if id != relinking.old.id else ():
            if last_name(mention.target) in names:
                before = relinking.before.resolve(source, mention)
                after = relinking.after.resolve(source, mention)
                if before and (before.document == relinking.old.id or (after and after.document == relinking.new.id)):
                    yield document
                    break


def _rows(new: NewTargets) -> Rows:
    return [(style, written, target) for (style, written), target in new.items()]


def _targets(rows: Rows, *, is_back: bool = False) -> NewTargets:
    """The new targets, or those that give the links their old ones."""
    return {(style, target if is_back else written): written if is_back else target for style, written, target in rows}


def _already_there(target: WriteTarget) -> Refused:
    """The error if something is where a document is to go."""
    advice = "Choose another path, or move that one away"
    return Refused(f"{target.place} exists already", advice, code="ALREADY_EXISTS")
