"""A run of a plan: how far each task is, what the run waits for, and the decisions about it.

Each function gives the next state of a run, and changes nothing.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from loci.core.errors import LociError, Refused
from loci.core.json import LAST_SECOND
from loci.core.seen import visible
from loci.gateway.gateway import CheckedCall
from loci.workflows.plan import Plan, Task

TaskStatus = Literal["waiting", "running", "success", "error", "skipped"]
RunStatus = Literal["running", "paused", "complete", "aborted", "error"]
"""The status of a run as clients read it."""
_SAID: Final[Mapping[str, str]] = {
    "running": "is running",
    "paused": "waits for a decision",
    "layer_complete": "waits for a decision",
    "complete": "is complete",
    "aborted": "was aborted",
    "error": "failed",
}
ENDED: Final = frozenset[RunStatus]({"complete", "aborted", "error"})
FINISHED: Final = frozenset[TaskStatus]({"success", "error", "skipped"})
MOST_TRIES: Final = 12
"""The most attempts of a task that is interrupted again and again."""
INTERRUPTED: Final = "INTERRUPTED"
UNSURE: Final = frozenset({INTERRUPTED, "TASK_TIMEOUT", "INTERNAL_ERROR", "MCP_SERVER_ERROR"})
"""The codes of errors after which a task may have run."""
LONGEST_BEFORE: Final = 200
MOST_NAMED: Final = 10
Moment = Annotated[float, Field(ge=0, le=LAST_SECOND)]
Duration = Annotated[float, Field(ge=-LAST_SECOND, le=1000 * LAST_SECOND)]
"""Milliseconds. They may be negative, since a clock may be set back."""


def status_text(status: str) -> str:
    """The status of a run as the rest of a sentence about it."""
    return _SAID.get(status, f"is {status}")


class TaskState(BaseModel):
    """The state of a task."""

    model_config = ConfigDict(frozen=True)

    status: TaskStatus = "waiting"
    code: str = ""
    """The code of its error."""
    error: str = ""
    began: Moment = 0
    ms: Duration = 0
    tries: int = 0
    before: str = ""
    """The failure of the attempt before this one."""
    is_approved: bool = False
    value: Any = None
    """The task's result, if it is small; else it is in a record of its own."""
    is_stored: bool = False
    is_json_text: bool = False
    """True: the value is kept as the text from which it is read."""

    def again(self, why: str) -> Self:
        """The state of the task after this attempt failed, and before the next one."""
        told = f"Try {self.tries} failed: {why}"
        told = told if len(told) <= LONGEST_BEFORE else f"{told[: LONGEST_BEFORE - 1]}…"
        return self.model_copy(update={"status": "waiting", "before": told})


class Checkpoint(BaseModel):
    """A point at which a run waits for a decision."""

    model_config = ConfigDict(frozen=True)

    id: str
    kind: Literal["layer", "approval"]
    task: str = ""
    """The task that needs an approval."""
    arguments: dict[str, Any] = {}
    reason: str = ""
    only_human: bool = False
    since: Moment = 0


class Lease(BaseModel):
    """The process that advances the run, and the time at which its lease ends unless it renews it."""

    model_config = ConfigDict(frozen=True)

    holder: str
    until: float


class Decision(BaseModel):
    """A decision about a run, and its time."""

    model_config = ConfigDict(frozen=True)

    at: Moment
    what: str
    reason: str = ""
    checkpoint: str = ""
    """The id of the checkpoint that it answers."""
    task: str = ""
    """The task that needed the approval."""
    asked: Moment = 0
    """The time of the question that it answers."""
    by: str = ""
    """The name of who decided, for the middle of a sentence."""
    way: str = ""
    """The way by which the decision came: `page`, `terminal`, `dialogue` of a client, or the `agent` itself."""


WITH_PIN: Final = "the person with the PIN"
Way = Literal["page", "terminal", "dialogue", "agent"]


@dataclass(frozen=True, slots=True)
class Answerer:
    """The author of an answer, and the way by which it came."""

    who: str
    """The name of the author, for the middle of a sentence."""
    way: Way
    is_person: bool
    """True: they proved to be a person."""


class Run(BaseModel):
    """An execution of a plan."""

    model_config = ConfigDict(frozen=True)

    plan: Plan
    tasks: dict[str, TaskState]
    safe: tuple[str, ...] = ()
    """The ids of tasks that may run again after an interruption: they change nothing, or nothing more."""
    gated: dict[str, str] = {}
    """The ids of tasks that need an approval, and why."""
    by_person: tuple[str, ...] = ()
    """The ids of tasks that only a person may approve."""
    only_people: bool = False
    """True: only a person may approve any task, and end a pause after a layer."""
    by_layer: bool = False
    released: int = 1
    """The number of layers that may run, if `by_layer`."""
    status: RunStatus = "running"
    checkpoint: Checkpoint | None = None
    lease: Lease | None = None
    caller: dict[str, Any] = {}
    repeats: str = ""
    """The id of the run whose plan somebody started again."""
    title: str = ""
    slot: tuple[str, str] | None = None
    began: Moment = 0
    ended: Moment = 0
    replans: int = 0
    retries: int = 0
    decisions: tuple[Decision, ...] = ()
    trace: dict[str, str] = {}
    """The trace of the call that began the run: its tasks are parts of it."""
    token: str = ""
    """The token that tells Step Functions that the run goes on."""

    def with_tasks(self, states: Mapping[str, TaskState]) -> Self:
        """The run with these tasks in these states."""
        if not states:
            return self
        return self.model_copy(update={"tasks": {**self.tasks, **states}})

    def with_ends(self, ends: Iterable[tuple[str, TaskState]]) -> Self:
        """The run after attempts of these tasks ended. A task that does not run any more keeps its state."""
        now = self.tasks
        return self.with_tasks(
            {id: end for id, end in ends if now[id].status == "running" and now[id].tries == end.tries}
        )

    def started(self, ids: Iterable[str], now: float) -> Self:
        """The run after another try of these tasks has begun."""
        return self.with_tasks(
            {
                id: self.tasks[id].model_copy(
                    update={"status": "running", "began": now, "tries": self.tasks[id].tries + 1}
                )
                for id in ids
            }
        )

    def interrupted(self, now: float) -> Self:
        """The run after the process that advanced it has died: running tasks are repeated if that is safe.

        A task that was interrupted very often may be the cause: it is not repeated any more.
        """
        changed = dict[str, TaskState]()
        for id, state in self.tasks.items():
            if state.status != "running":
                continue
            if id in self.safe and state.tries < MOST_TRIES:
                changed[id] = state.again(f"{INTERRUPTED}: Loci was stopped")
            else:
                changed[id] = _ended_unsure(state, now, INTERRUPTED, "Loci was stopped while it ran")
        return self.with_tasks(changed)

    def failed(self, now: float, code: str = "INTERNAL_ERROR", why: str = "Loci failed") -> Self:
        """The run after an error of Loci's own: nothing of it goes on."""
        changed = dict[str, TaskState]()
        for id, state in self.tasks.items():
            if state.status == "running":
                changed[id] = _ended_unsure(state, now, code, f"{why} while it ran")
            elif state.status == "waiting":
                update = {"status": "skipped", "code": code, "error": f"{why}: read its log"}
                changed[id] = state.model_copy(update=update)
        over = {"status": "error", "checkpoint": None, "lease": None, "ended": now}
        return self.with_tasks(changed).model_copy(update=over)

    def with_skipped(self) -> Self:
        """The run in which every task is skipped that waits for a failed one."""
        run = self
        while stranded := {
            one.id: TaskState(status="skipped", error=run._why_skipped(one))
            for one in run.plan.tasks
            if run.tasks[one.id].status == "waiting" and any(run._blocks(other) for other in one.after)
        }:
            run = run.with_tasks(stranded)
        return run

    def ready(self) -> list[Task]:
        """The tasks that may start now, except that some need an approval first."""
        allowed = {id for layer in self.layers()[: self.released] for id in layer} if self.by_layer else None
        return [
            one
            for one in self.plan.tasks
            if self.tasks[one.id].status == "waiting"
            and (allowed is None or one.id in allowed)
            and all(self.tasks[other].status in FINISHED for other in one.after)
        ]

    def needs_approval(self, id: str) -> bool:
        """True if the task may not start yet."""
        return id in self.gated and not self.tasks[id].is_approved

    def running(self) -> list[str]:
        """The ids of the tasks that run."""
        return [id for id, state in self.tasks.items() if state.status == "running"]

    def unfinished(self) -> list[str]:
        """The ids of the tasks that have not ended."""
        return [id for id, state in self.tasks.items() if state.status not in FINISHED]

    def layers(self) -> list[list[str]]:
        """The ids of the tasks in layers."""
        return self.plan.layers()

    def is_finished(self) -> bool:
        """True if no task can run any more."""
        return not self.unfinished()

    def end_status(self) -> RunStatus:
        """The final status of a settled run."""
        states = self.tasks
        if any(states[one.id].status == "error" and one.on_error == "fail" for one in self.plan.tasks):
            return "error"
        if any(one.code == "REJECTED" for one in states.values()):
            return "aborted"
        return "complete"

    def decided(
        self, at: float, what: str, reason: str | None, by: "Answerer | None" = None, *, answers: bool = True
    ) -> Self:
        """The run with this decision noted. `answers`: it is the answer to the checkpoint."""
        asked = self.checkpoint if answers else None
        more: dict[str, Any] = {"checkpoint": asked.id, "task": asked.task, "asked": asked.since} if asked else {}
        more |= {"by": by.who, "way": by.way} if by else {}
        decision = Decision.model_validate({"at": at, "what": what, "reason": reason or "", **more})
        return self.model_copy(update={"decisions": (*self.decisions, decision)})

    def _blocks(self, id: str) -> bool:
        """True if tasks that wait for this task cannot run."""
        state = self.tasks[id].status
        return state == "skipped" or (state == "error" and self.plan[id].on_error == "fail")

    def _why_skipped(self, task: Task) -> str:
        blocking = next(one for one in task.after if self._blocks(one))
        how = "failed" if self.tasks[blocking].status == "error" else "was skipped"
        return f"{blocking} {how}"


def must_be_durable(before: Run, after: Run) -> bool:
    """True if the change must survive a power cut: it is a decision or a pause, or a task may not be repeated."""
    if (before.decisions, before.plan) != (after.decisions, after.plan) or after.status == "paused":
        return True
    changed = [id for id, state in after.tasks.items() if state is not before.tasks[id]]
    if not changed and after.status == "running":  # a sign of life, now and then
        return True
    if after.status != before.status and len(after.safe) < len(after.tasks):
        return True
    return any("running" in (before.tasks[id].status, after.tasks[id].status) for id in changed if id not in after.safe)


def _ended_unsure(state: TaskState, now: float, code: str, why: str) -> TaskState:
    told = f"{why}: it may have run, wholly or in part"
    ms = max(0.0, now - state.began) * 1000
    return state.model_copy(update={"status": "error", "code": code, "error": told, "ms": ms})


LONGEST_ARGUMENTS: Final = 4000

WhoApproves = Literal["policy", "person", "caller"]
"""The values of the setting `workflow_approval`."""
BY_PLAN: Final = "the plan says so"
BY_LOCI: Final = "Loci planned it, and it may change something"


def gates(
    tasks: Sequence[Task], checked: Mapping[str, CheckedCall], who: WhoApproves, why: str = BY_PLAN
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The tasks that need an approval, each with the reason, and the tasks that only a person may approve.

    `why`: the reason for tasks that the plan itself has marked.
    """
    reasons = {one.id: checked[one.id].approval or (why if one.approve else None) for one in tasks}
    gated = {id: reason for id, reason in reasons.items() if reason is not None}

    def is_for_people(task: Task) -> bool:
        if task.approve == "human" or who == "person":
            return True
        return who == "policy" and checked[task.id].approval is not None

    return gated, tuple(one.id for one in tasks if one.id in gated and is_for_people(one))


def continued(run: Run, now: float, reason: str | None, by: Answerer) -> Run:
    """The run that goes on after a layer. A run that does not wait stays as it is."""
    match run.checkpoint:
        case Checkpoint(kind="approval", id=checkpoint):
            raise Refused(
                f"The workflow waits for an approval of task {run.checkpoint.task!r}",
                f"Answer it with pml_approval_response, checkpoint_id {checkpoint!r}",
                code="APPROVAL_NEEDED",
            )
        case Checkpoint():
            return released(run.decided(now, "continue", reason, by))
        case None:
            return run


def can_start_again(run: Run) -> bool:
    """True if somebody may start the plan again: the run has ended, and began here."""
    return run.status in ENDED and bool(run.caller)


def open_checkpoint(run: Run, id: str) -> Checkpoint:
    """The checkpoint at which the run waits. Raises `Refused` if it has another id."""
    if run.checkpoint is None or run.checkpoint.id != id:
        over = f"It does not wait: it {status_text(run.status)}"
        waiting = f"It waits at {run.checkpoint.id}" if run.checkpoint else over
        raise Refused(
            f"Checkpoint {id[:80]!r} is not open in this workflow",
            f"{waiting}. See pml_workflow_status",
            code="CHECKPOINT_CLOSED",
        )
    return run.checkpoint


def answered(
    run: Run, checkpoint: Checkpoint, now: float, *, approved: bool, feedback: str | None, by: Answerer
) -> Run:
    """The run after its checkpoint was approved or rejected."""
    run = run.decided(now, f"{'approve' if approved else 'reject'} {checkpoint.task or 'layer'}", feedback, by)
    if checkpoint.kind == "layer":
        return released(run) if approved else aborted(run, now)
    state = run.tasks[checkpoint.task]
    if approved:
        new = state.model_copy(update={"is_approved": True})
    else:
        why = f"It was rejected: {feedback}" if feedback else "It was rejected"
        new = state.model_copy(update={"status": "skipped", "code": "REJECTED", "error": why})
    return run.with_tasks({checkpoint.task: new}).model_copy(update={"status": "running", "checkpoint": None})


def only_a_person(run: Run, link: str | None, advice: str) -> LociError:
    """Why the model's approval does not count."""
    return Refused(
        question(run),
        f"{advice}. To end the workflow, use pml_abort",
        code="APPROVAL_NEEDED",
        details={"approval_url": link} if link else None,
    )


def question(run: Run) -> str:
    """The question to a person at the run's checkpoint."""
    checkpoint = run.checkpoint
    if checkpoint is None or not checkpoint.task:
        return "Only a person may let the workflow go on"
    task = run.plan[checkpoint.task]
    what = task.tool or "code"
    with_what = visible(json.dumps(checkpoint.arguments, ensure_ascii=False))
    if task.code:
        with_what += f": {visible(task.code)}"
    if len(with_what) > LONGEST_ARGUMENTS:
        with_what = f"{with_what[:LONGEST_ARGUMENTS]}… ({len(with_what):,} characters in all)"
    return f"Only a person may approve task {checkpoint.task!r}: {what} with {with_what}"


def stopped(run: Run, now: float, reason: str) -> Run:
    """The run after an abort. Raises `Refused` if it has ended."""
    if run.status in ENDED:
        raise Refused(
            f"The workflow has ended already: it {status_text(run.status)}",
            "See its results with pml_workflow_status",
            code="WORKFLOW_ENDED",
        )
    return aborted(run.decided(now, "abort", reason), now)


def failed_tasks(run: Run) -> list[str]:
    """The tasks of an ended run that a retry may name: those that failed, or that an error of Loci's own skipped."""
    failed = [id for id, state in run.tasks.items() if state.status == "error"]
    return failed or [id for id, state in run.tasks.items() if state.status == "skipped" and _may_run(state)]


def _may_run(state: TaskState) -> bool:
    return state.status in ("error", "skipped") and state.code != "REJECTED"


def retried(run: Run, ids: Sequence[str]) -> Run:
    """The run in which these tasks, and those that were skipped because of them, have to run again.

    Raises `Refused` if one of them may not.
    """
    failed = ", ".join(failed_tasks(run)[:MOST_NAMED])
    if run.status not in ENDED:
        what, then = f"The workflow has not ended: it {status_text(run.status)}", "See it with pml_workflow_status"
        raise Refused(what, then, code="WORKFLOW_ACTIVE")
    if run.status == "aborted":
        raise Refused("The workflow was aborted", "Start another one with pml_execute_dag", code="WORKFLOW_ENDED")
    unknown = next((f"The workflow has no task {one[:80]!r}" for one in ids if one not in run.tasks), None)
    if unknown or not ids:
        resolution = f"Name tasks that failed: {failed or 'none has'}"
        raise Refused(unknown or "retry names no task", resolution, code="INVALID_PARAMS")
    for id in ids:
        if not _may_run(state := run.tasks[id]):
            how = "was rejected" if state.code == "REJECTED" else "is done, and its result is kept"
            raise Refused(f"Task {id!r} {how}", f"Retry tasks that failed: {failed or 'none has'}", code="TASK_DONE")
    again = {id: run.tasks[id].again(run.tasks[id].error or "skipped") for id in ids}
    cleared = {"code": "", "error": "", "ms": 0.0, "is_approved": False}
    named = {id: state.model_copy(update=cleared) for id, state in again.items()}
    skipped = {id: TaskState() for id, state in run.tasks.items() if state.status == "skipped" and _may_run(state)}
    new = run.with_tasks({**skipped, **named}).with_skipped()
    if blocked := next((id for id in ids if new.tasks[id].status == "skipped"), None):
        what = f"Task {blocked!r} cannot run: {new.tasks[blocked].error}"
        raise Refused(what, f"Name what failed: {failed}", code="INVALID_PARAMS")
    over = {"status": "running", "checkpoint": None, "lease": None, "ended": 0.0, "token": ""}
    return new.model_copy(update={**over, "retries": run.retries + 1})


def released(run: Run) -> Run:
    """The run whose next layer may run."""
    return run.model_copy(update={"status": "running", "checkpoint": None, "released": run.released + 1})


def aborted(run: Run, now: float) -> Run:
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
