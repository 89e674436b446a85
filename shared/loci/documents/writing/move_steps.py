"""The steps of a move, and of taking it back. Each can be done twice, and acts on the texts as they are then."""

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace

from loci.core.errors import Conflict, NotFound, Refused
from loci.core.identity import Owner
from loci.core.json import iso
from loci.documents.catalog import Catalog
from loci.documents.document_ids import lock_name
from loci.documents.writing.deletions import Deletions
from loci.documents.writing.history import History, PastWrite, hash_of
from loci.documents.writing.move_plan import MovePlan, MovePlans, Place, reversed_targets
from loci.documents.writing.relinking import NewTargets, relinked
from loci.documents.writing.write_recovery import WriteRecovery
from loci.documents.writing.write_targets import WriteTarget, WriteTargets

BY = "move_document"
TRIES = 5
"""For a document that an editor writes at the same moment."""


class MoveSteps:
    """Does what is left of a move, or of taking it back."""

    def __init__(
        self,
        catalog: Catalog,
        targets: WriteTargets,
        recovery: WriteRecovery,
        history: History,
        plans: MovePlans,
        deletions: Deletions,
        clock: Callable[[], float],
    ) -> None:
        self._catalog = catalog
        self._targets = targets
        self._recovery = recovery
        self._history = history
        self._plans = plans
        self._deletions = deletions
        self._clock = clock

    def forward(self, owner: Owner, plan: MovePlan) -> str | None:
        """Do what is left of the move; return what could not be indexed. If a text cannot be written, take all back."""
        try:
            unfinished = [self._move_text(owner, plan)]
            for place, new in plan.linking:
                unfinished.append(self._relink(owner, place, new, plan.id))
        except (Refused, NotFound):
            plan = replace(plan, is_back=True)
            self._plans.keep(owner, plan)
            self.back(owner, plan)
            raise
        return next((one for one in unfinished if one), None)

    def back(self, owner: Owner, plan: MovePlan) -> str | None:
        """Do what is left to take the move back. A document that cannot be written keeps its new links."""
        unfinished: list[str | None] = []
        for place, new in reversed(plan.linking):
            with suppress(Refused, NotFound):
                unfinished.append(self._link_back(owner, place, new, plan.id))
        unfinished.append(self._move_text_back(owner, plan))
        for place in (plan.source, plan.goal):
            while write := self._history.of_move(owner, place.path, plan.id):
                self._history.drop(owner, write.key)
        self._plans.remove(owner, plan.id)
        return next((one for one in unfinished if one), None)

    def _move_text(self, owner: Owner, plan: MovePlan) -> str | None:
        source, goal = (self.place(owner, one) for one in (plan.source, plan.goal))
        former = (source.path, *(one for one in plan.former if one != goal.path))
        with self._both(owner, source, goal):
            old, new = (self._recovery.stored_text(owner, one) for one in (source, goal))
            now, there = old.read(), new.read()
            if now is None:
                self._recovery.index(owner, source)
                self._recovery.index(owner, goal, former=former)
                return None
            if hash_of(now) != plan.before:
                raise Conflict(f"{source.place} was changed while it was moved", "Read it again, then decide")
            if there is not None and hash_of(there) != plan.after:
                raise already_there(goal)
            unfinished = None
            if there is None:
                content, stamp = relinked(goal.path, now, plan.own), old.stamp()
                self._keep(owner, goal.path, None, content, plan.id)
                done = self._recovery.write(owner, goal, lambda text: text.write(content, None, stamp), former)
                unfinished = done.unfinished
            if document := self._catalog.find(owner, source.path).document:
                self._deletions.note(owner, document, iso(self._clock()))
            self._keep(owner, source.path, now, None, plan.id)
            done = self._recovery.write(owner, source, lambda text: text.remove(now))
            return unfinished or done.unfinished

    def _move_text_back(self, owner: Owner, plan: MovePlan) -> str | None:
        source, goal = (self.place(owner, one) for one in (plan.source, plan.goal))
        with self._both(owner, source, goal):
            old, new = (self._recovery.stored_text(owner, one) for one in (source, goal))
            now, there = old.read(), new.read()
            unfinished = None
            if there is None:
                self._recovery.index(owner, source, former=plan.former)
                self._recovery.index(owner, goal)
                return None
            if now is None:
                kept = self._history.of_move(owner, source.path, plan.id)
                content = kept.write.before if kept and hash_of(there) == plan.after else None
                if content is None:
                    content = relinked(source.path, there, reversed_targets(plan.own))
                put, stamp = content, new.stamp()
                done = self._recovery.write(owner, source, lambda text: text.write(put, None, stamp), plan.former)
                unfinished = done.unfinished
            elif hash_of(there) != plan.after:
                return None  # somebody else's document
            done = self._recovery.write(owner, goal, lambda text: text.remove(there))
            return unfinished or done.unfinished

    def _relink(self, owner: Owner, place: Place, new: NewTargets, move: str) -> str | None:
        """Rewrite the links of a document as it is now."""
        target = self.place(owner, place)
        with self._recovery.locked(owner, target):
            for attempt in range(TRIES):
                now = self._recovery.stored_text(owner, target).read()
                after = None if now is None else relinked(place.path, now, new)
                if now is None or after is None or after == now:
                    return None
                try:
                    return self._replace(owner, target, now, after, move)
                except Conflict:
                    if attempt == TRIES - 1:
                        raise
        return None

    def _link_back(self, owner: Owner, place: Place, new: NewTargets, move: str) -> str | None:
        """Put back the text from before the move; if the document changed since, only its links."""
        target = self.place(owner, place)
        with self._recovery.locked(owner, target):
            now = self._recovery.stored_text(owner, target).read()
            last = self._history.of_move(owner, place.path, move)
            if now is None or last is None:
                return None
            previous = last.write.before
            if previous is not None and hash_of(now) == last.write.after:
                unfinished = self._recovery.write(owner, target, lambda text: text.write(previous, now)).unfinished
                self._history.drop(owner, last.key)
                return unfinished
            after = now if now == previous else relinked(place.path, now, reversed_targets(new))
            return None if after == now else self._replace(owner, target, now, after)

    def _replace(
        self, owner: Owner, target: WriteTarget, now: bytes, after: bytes, move: str | None = None
    ) -> str | None:
        key = self._keep(owner, target.path, now, after, move)
        try:
            return self._recovery.write(owner, target, lambda text: text.write(after, now)).unfinished
        except Refused:
            self._history.drop(owner, key)
            raise

    def _keep(self, owner: Owner, path: str, before: bytes | None, after: bytes | None, move: str | None) -> str:
        write = PastWrite(before, hash_of(after) or "", iso(self._clock()), BY, move)
        return self._history.keep(owner, path, write)

    def place(self, owner: Owner, place: Place) -> WriteTarget:
        """The target of a place. `NotFound` if its root is no longer known."""
        target = self._targets.at(owner, place.path, place.root)
        if target is None:
            advice = "Ingest it again with: loci ingest FOLDER"
            raise NotFound(f"Loci no longer knows the folder of {place.path}", advice, code="ROOT_NOT_FOUND")
        return target

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


def already_there(target: WriteTarget) -> Refused:
    """The error if something is where a document is to go."""
    advice = "Choose another path, or move that one away"
    return Refused(f"{target.place} exists already", advice, code="ALREADY_EXISTS")
