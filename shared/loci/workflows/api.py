"""Workflows: the one door. MCP tools, commands and pages call these methods and nothing behind them."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, cast

from loci.core.deadline import time_left
from loci.core.errors import LociError, Refused
from loci.core.identity import Caller, Owner
from loci.core.ids import random_id
from loci.core.json import JsonObject
from loci.core.slots import Slots
from loci.core.stores import Record
from loci.workflows.active import ActiveOwners
from loci.workflows.answers import Answers
from loci.workflows.approval_links import ApprovalLinks, Linked
from loci.workflows.plan import Plan, Task
from loci.workflows.ports import CheckedTask, Steps, WorkflowEngine
from loci.workflows.pursuing import Pursuit
from loci.workflows.run import ENDED, Checkpoint, Run, TaskState
from loci.workflows.runs import ALIVE, Runs
from loci.workflows.slice import Slices

ANSWERING: Final = 2.0
"""Seconds that remain of a request when its call stops waiting."""
LOOK_SECONDS: Final = 0.5
"""Seconds between two reports of progress."""
LONGEST: Final = ALIVE
MOST_FAULTS: Final = 5
LONGEST_ARGUMENTS: Final = 1000
STORED_SECONDS: Final = 60.0
"""Seconds after which a slot without a run is free again."""

Told = Callable[[int, int, str], None]
"""Told how far a run is: tasks that have ended, of how many, and a text."""


def nobody(done: int, of: int, text: str) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class WorkflowParts:
    """The parts behind `Workflows`."""

    runs: Runs
    steps: Steps
    slices: Slices
    engine: WorkflowEngine
    slots: Slots
    owners: ActiveOwners
    answers: Answers
    links: ApprovalLinks
    pursuit: Pursuit
    clock: Callable[[], float]
    only_people: bool
    """True: only people may approve tasks."""
    patience: float
    """Seconds that a call waits before it answers that the run goes on."""


class Workflows:
    """Runs plans of tasks. A run survives the call that started it, and the process."""

    def __init__(self, parts: WorkflowParts) -> None:
        self.parts = parts

    def wait_for_ends(self) -> None:
        """Have calls wait for the ends of their runs, however long: this process ends with the call."""
        self.parts = replace(self.parts, patience=LONGEST)

    def start(self, caller: Caller, workflow: JsonObject, *, by_layer: bool = False, told: Told = nobody) -> JsonObject:
        """Run a plan. Nothing of it runs unless all of it can."""
        plan = Plan.of(workflow)
        checked = self._checked(caller.owner, plan.tasks)
        id = f"wf_{random_id(20)}"
        owner, now = caller.owner, self.parts.clock()
        slot = self._slot(owner, id, now + ALIVE)
        run = Run(
            plan=plan,
            tasks={one.id: TaskState() for one in plan.tasks},
            safe=tuple(one for one, tool in checked.items() if tool.is_safe),
            gated=(gated := _gates(plan.tasks, checked)),
            only_people=self.parts.only_people,
            by_person=tuple(one for one in gated if self.parts.only_people or plan[one].approve == "human"),
            by_layer=by_layer,
            caller=caller.as_json(),
            slot=slot,
            began=now,
        )
        self.parts.runs.add(owner, id, run)
        try:
            self.parts.engine.start(owner, id)
        except LociError:
            self.parts.runs.change(owner, id, lambda run: _aborted(run, now))
            self._freed(owner, run)
            raise
        return self._settled(owner, id, told)

    def pursue(
        self, caller: Caller, intent: str, context: JsonObject, *, by_layer: bool = False, told: Told = nobody
    ) -> JsonObject:
        """Run a plan that Loci makes for the intent; tell the plan alone if it is not complete or not sure."""
        start = partial(self.start, caller, by_layer=by_layer, told=told)
        return self.parts.pursuit.pursue(caller, intent, context, start)

    def replan(self, owner: Owner, id: str, requirement: str, context: JsonObject) -> JsonObject:
        """Add to a run that has not ended what a requirement asks for. What it has done stays done."""
        return self.parts.pursuit.replan(owner, id, requirement, context)

    def proceed(self, owner: Owner, id: str, reason: str | None = None, told: Told = nobody) -> JsonObject:
        """Go on with a run that waits after a layer. For another one, wait for its end."""

        seen: list[Checkpoint | None] = []

        def gone_on(run: Run) -> Run:
            seen.append(run.checkpoint)
            if run.checkpoint != seen[0]:  # another answer was faster: this one was not meant for what came after it
                return run
            match run.checkpoint:
                case Checkpoint(kind="approval", id=checkpoint):
                    raise Refused(
                        f"The workflow waits for an approval of task {run.checkpoint.task!r}",
                        f"Answer it with pml_approval_response, checkpoint_id {checkpoint!r}",
                        code="APPROVAL_NEEDED",
                    )
                case Checkpoint():
                    return _released(run).decided(self.parts.clock(), "continue", reason)
                case None:
                    return run

        self.parts.runs.change(owner, id, gone_on)
        self.parts.engine.start(owner, id)
        return self._settled(owner, id, told)

    def decide(
        self,
        owner: Owner,
        id: str,
        checkpoint_id: str,
        *,
        approved: bool,
        feedback: str | None = None,
        by_person: bool = False,
        wait: bool = True,
        told: Told = nobody,
    ) -> JsonObject:
        """Answer the checkpoint at which a run waits. The second answer is refused. `wait`: for what comes of it."""

        def decided(run: Run) -> Run:
            checkpoint = run.checkpoint
            if checkpoint is None or checkpoint.id != checkpoint_id:
                waiting = f"It waits at {checkpoint.id}" if checkpoint else f"It does not wait: it is {run.status}"
                raise Refused(
                    f"Checkpoint {checkpoint_id[:80]!r} is not open in this workflow",
                    f"{waiting}. See pml_workflow_status",
                    code="CHECKPOINT_CLOSED",
                )
            if checkpoint.only_human and not by_person:
                if not approved:
                    told = "Only a person may answer this checkpoint"
                    raise Refused(told, "To end the workflow, use pml_abort", code="ONLY_A_PERSON")
                link = self.parts.answers.link(owner, id, run)
                raise Refused(
                    self.question(run),
                    f"Ask them to {f'open {link}, or to ' if link else ''}run: loci approve {id}. To end the workflow,"
                    " use pml_abort",
                    code="APPROVAL_NEEDED",
                    details={"approval_url": link} if link else None,
                )
            now = self.parts.clock()
            run = run.decided(now, f"{'approve' if approved else 'reject'} {checkpoint.task or 'layer'}", feedback)
            if checkpoint.kind == "layer":
                return _released(run) if approved else _aborted(run, now)
            state = run.tasks[checkpoint.task]
            if approved:
                new = state.model_copy(update={"is_approved": True})
            else:
                why = f"It was rejected: {feedback}" if feedback else "It was rejected"
                new = state.model_copy(update={"status": "skipped", "code": "REJECTED", "error": why})
            return run.with_tasks({checkpoint.task: new}).model_copy(update={"status": "running", "checkpoint": None})

        run, _ = self.parts.runs.change(owner, id, decided)
        if run.status in ENDED:
            self._freed(owner, run)
        else:
            self.parts.engine.start(owner, id)
        return self._settled(owner, id, told) if wait else self.parts.answers.of(owner, id, run)

    def abort(self, owner: Owner, id: str, reason: str) -> JsonObject:
        """Stop a run: nothing new starts, and what runs is given up."""

        def aborted(run: Run) -> Run:
            if run.status in ENDED:
                raise Refused(
                    f"The workflow has ended already: it is {run.status}",
                    "See its results with pml_workflow_status",
                    code="WORKFLOW_ENDED",
                )
            now = self.parts.clock()
            return _aborted(run.decided(now, "abort", reason), now)

        run, _ = self.parts.runs.change(owner, id, aborted)
        self.parts.engine.cancel(owner, id)
        self._freed(owner, run)
        return self.parts.answers.of(owner, id, run)

    def status(self, owner: Owner, id: str) -> JsonObject:
        """How far a run is."""
        return self.parts.answers.of(owner, id, self.parts.runs.get(owner, id))

    @staticmethod
    def question(run: Run) -> str:
        """What a person is asked at the run's checkpoint."""
        checkpoint = run.checkpoint
        if checkpoint is None or not checkpoint.task:
            return "Only a person may let the workflow go on"
        what = run.plan[checkpoint.task].tool or "code"
        with_what = json.dumps(checkpoint.arguments, ensure_ascii=False)[:LONGEST_ARGUMENTS]
        return f"Only a person may approve task {checkpoint.task!r}: {what} with {with_what}"

    def linked(self, owner: Owner, token: str) -> tuple[Linked, JsonObject]:
        """The checkpoint behind a link, and how far its run is. Raises `NotFound`."""
        linked = self.parts.links.opened(owner, token)
        return linked, self.status(owner, linked.workflow_id)

    def waiting(self, owner: Owner) -> dict[str, JsonObject]:
        """The runs that wait for a decision, by their ids."""
        paused = (pair for pair in self.parts.runs.all(owner).items() if pair[1].status == "paused")
        return {id: self.parts.answers.of(owner, id, run) for id, run in paused}

    def resume(self, owner: Owner) -> int:
        """Move on what nobody moves on any more: its process died. Returns how many runs that may be.

        It looks at the slots of the active runs only, and gives back those of runs that are over.
        """
        slots = self._of_runs(owner)
        states = self.parts.runs.states(owner, [*slots])
        left = [id for id, (status, lease) in states.items() if self.parts.slices.is_left(status, lease)]
        for id in left:
            self.parts.engine.start(owner, id)
        self._free_ended(owner, slots, states)
        return len(left)

    def close(self) -> None:
        """Move nothing on any more: the server stops."""
        self.parts.engine.close()

    def _checked(self, owner: Owner, tasks: tuple[Task, ...]) -> dict[str, CheckedTask]:
        checked, faults = dict[str, CheckedTask](), list[tuple[Task, LociError]]()
        check = self.parts.steps.checker(owner)
        for one in tasks:
            try:
                checked[one.id] = check(one)
            except LociError as error:
                faults.append((one, error))
        if faults:
            told = "; ".join(f"task {task.id!r}: {error.what}" for task, error in faults[:MOST_FAULTS])
            first = faults[0][1]
            raise Refused(f"Nothing has run. {told}", first.resolution, code=first.code)
        return checked

    def _slot(self, owner: Owner, id: str, until: float) -> tuple[str, str]:
        """A slot for one more active run. Those of runs that are over come free first."""
        value: JsonObject = {"run": id, "at": self.parts.clock()}
        self.parts.owners.note(owner)
        try:
            slot = self.parts.slots.take(owner, until, value)
        except LociError:
            slots = self._of_runs(owner)
            self._free_ended(owner, slots, self.parts.runs.states(owner, [*slots]))
            slot = self.parts.slots.take(owner, until, value)
        return slot.key, slot.version

    def _of_runs(self, owner: Owner) -> dict[str, Record]:
        """The slots, by the ids of their runs."""
        return {str(slot.value.get("run") or slot.key): slot for slot in self.parts.slots.held(owner)}

    def _free_ended(self, owner: Owner, slots: dict[str, Record], states: Mapping[str, tuple[str, object]]) -> None:
        """Free the slots of runs that have ended, expired or are damaged. A run is stored soon after its slot."""
        for id, slot in slots.items():
            is_new = self.parts.clock() - float(cast("float", slot.value.get("at", 0))) < STORED_SECONDS
            if states[id][0] in ENDED if id in states else not is_new:
                self.parts.slots.give_back(owner, slot.key, slot.version)

    def _freed(self, owner: Owner, run: Run) -> None:
        if run.slot is not None:
            self.parts.slots.give_back(owner, *run.slot)

    def _settled(self, owner: Owner, id: str, told: Told) -> JsonObject:
        """The answer of a run, as soon as it ends or waits for a decision; else, after a while, that it goes on."""
        left = time_left()
        patience = self.parts.patience if left is None else max(0.0, min(self.parts.patience, left - ANSWERING))
        until = time.monotonic() + patience
        while True:
            run = self.parts.runs.get(owner, id)
            left = until - time.monotonic()
            if run.status != "running" or left <= 0:
                if run.status in ENDED:
                    self._freed(owner, run)
                return self.parts.answers.of(owner, id, run)
            told(len(run.tasks) - len(run.unsettled()), len(run.tasks), f"{id} runs {', '.join(run.running()[:5])}")
            self.parts.engine.wait(owner, id, min(LOOK_SECONDS, left))


def _gates(tasks: tuple[Task, ...], checked: dict[str, CheckedTask]) -> dict[str, str]:
    """Why tasks need an approval, by their ids."""
    reasons = {one.id: checked[one.id].approval or ("the plan says so" if one.approve else None) for one in tasks}
    return {id: reason for id, reason in reasons.items() if reason is not None}


def _released(run: Run) -> Run:
    """The run whose next layer may run."""
    return run.model_copy(update={"status": "running", "checkpoint": None, "released": run.released + 1})


def _aborted(run: Run, now: float) -> Run:
    """The run with nothing left to do."""
    states = dict[str, TaskState]()
    for id, state in run.tasks.items():
        if state.status == "waiting":
            states[id] = state.model_copy(update={"status": "skipped", "error": "the workflow was aborted"})
        elif state.status == "running":
            told = {"status": "error", "code": "ABORTED", "error": "The workflow was aborted: it may have run"}
            states[id] = state.model_copy(update={**told, "ms": max(0.0, now - state.began) * 1000})
    over = {"status": "aborted", "checkpoint": None, "lease": None, "ended": now}
    return run.with_tasks(states).model_copy(update=over)
