"""Moves documents with the links that lead to them: completely or not at all, and back again.

A plan is kept first. If the move is interrupted, the next start or the next call finishes it; if a text cannot be
written, all of it is taken back. Each step can be done twice.
"""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from loci.core.errors import Conflict, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.stores import WriteLocks
from loci.documents.catalog import Catalog
from loci.documents.content.encodings import require_text
from loci.documents.document import LOCK_WAIT_SECONDS, Document
from loci.documents.writing.authoring import missing
from loci.documents.writing.history import hash_of
from loci.documents.writing.move_plan import MovePlan, MovePlans
from loci.documents.writing.move_planning import MovePlanner
from loci.documents.writing.move_steps import MoveSteps, already_there
from loci.documents.writing.write_journal import UnfinishedWrite, WriteJournal
from loci.documents.writing.write_recovery import WriteRecovery
from loci.documents.writing.write_targets import WriteTarget, WriteTargets

LOCK = "_moves"
"""No document's lock has that name."""


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
        targets: WriteTargets,
        recovery: WriteRecovery,
        journal: WriteJournal,
        plans: MovePlans,
        locks: WriteLocks,
        planner: MovePlanner,
        steps: MoveSteps,
    ) -> None:
        self._catalog = catalog
        self._targets = targets
        self._recovery = recovery
        self._journal = journal
        self._plans = plans
        self._locks = locks
        self._planner = planner
        self._steps = steps

    def move(self, owner: Owner, name: str, to: str, *, expect: str | None) -> MovedDocument:
        """Move the document and rewrite links. `expect` is the hash that it must have now."""
        source, goal = self._targets.find_itself(owner, name), self._targets.find_itself(owner, to)
        with self._alone(owner, LOCK_WAIT_SECONDS) as is_alone:
            if not is_alone:
                raise _busy()
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
                raise already_there(goal)
            plan = self._planner.plan(owner, source, goal, content)
            self._plans.keep(owner, plan)
            note = self._journal.begin(owner, plan.goal.path, plan.goal.root, plan.id)
            try:
                unfinished = self._steps.forward(owner, plan)
            except (Refused, NotFound):  # it was taken back
                self._journal.end(owner, note)
                raise
            except Unavailable as error:
                advice = "The next write or the next start finishes the move: do not repeat it"
                raise Unavailable(f"The move is not complete yet: {error.what}", advice, code=error.code) from None
            self._journal.end(owner, note)
        document = self._catalog.find(owner, goal.path).document
        changed = tuple(place.path for place, _ in plan.linking)
        return MovedDocument(source, goal, document, plan.after, changed, unfinished)

    def find(self, owner: Owner, id: str, path: str) -> MovePlan | None:
        """The plan of the move, if the path is its old or its new one."""
        plan = self._plans.find(owner, id)
        return plan if plan and path in (plan.source.path, plan.goal.path) else None

    def take_back(self, owner: Owner, plan: MovePlan, *, expect: str | None) -> MovedDocument:
        """Take back a move that is done. `expect` is the hash of the document now, if it changed since the move."""
        with self._alone(owner, LOCK_WAIT_SECONDS) as is_alone:
            if not is_alone:
                raise _busy()
            source, goal = (self._steps.place(owner, one) for one in (plan.source, plan.goal))
            if self._recovery.stored_text(owner, source).read() is not None:
                raise already_there(source)
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
                    text = self._recovery.stored_text(owner, self._steps.place(owner, place))
                    if text.read() is not None:
                        text.stamp()  # Refused now, not halfway, if the file is write-protected
            plan = replace(plan, is_back=True)
            self._plans.keep(owner, plan)
            note = self._journal.begin(owner, plan.goal.path, plan.goal.root, plan.id)
            unfinished = self._steps.back(owner, plan)
            self._journal.end(owner, note)
        document = self._catalog.find(owner, source.path).document
        changed = tuple(place.path for place, _ in plan.linking)
        hash = hash_of(self._recovery.stored_text(owner, source).read())
        return MovedDocument(goal, source, document, str(hash), changed, unfinished)

    def finish(self, owner: Owner, note: UnfinishedWrite) -> bool:
        """Finish or take back an interrupted move. False if another process does it now."""
        with self._alone(owner, 0) as is_alone:
            if not is_alone or not self._journal.is_unfinished(owner, note):
                return False
            if plan := self._plans.find(owner, note.move or ""):
                with suppress(Refused, NotFound):  # it was taken back
                    (self._steps.back if plan.is_back else self._steps.forward)(owner, plan)
            self._journal.end(owner, note)
            return True

    @contextmanager
    def _alone(self, owner: Owner, seconds: float) -> Generator[bool]:
        with self._locks.take(owner, LOCK, seconds) as is_alone:
            yield is_alone


def _busy() -> Refused:
    return Refused("Another document is being moved", "Try again in a minute", code="BUSY")
