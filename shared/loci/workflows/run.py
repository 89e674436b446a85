"""A run of a plan: how far each task is, and what it waits for. Its methods give the next state, and change nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from loci.core.json import LAST_SECOND
from loci.workflows.plan import Plan, Task

TaskStatus = Literal["waiting", "running", "success", "error", "skipped"]
RunStatus = Literal["running", "paused", "complete", "aborted", "error"]
"""As clients read it."""
_SAID: Final[Mapping[str, str]] = {
    "running": "is running",
    "paused": "waits for a decision",
    "layer_complete": "waits for a decision",
    "complete": "is complete",
    "aborted": "was aborted",
    "error": "failed",
}
ENDED: Final = frozenset[RunStatus]({"complete", "aborted", "error"})
SETTLED: Final = frozenset[TaskStatus]({"success", "error", "skipped"})
MOST_TRIES: Final = 12
"""Of a task that is interrupted again and again."""
INTERRUPTED: Final = "INTERRUPTED"
LONGEST_BEFORE: Final = 200
Moment = Annotated[float, Field(ge=0, le=LAST_SECOND)]
Duration = Annotated[float, Field(ge=-LAST_SECOND, le=1000 * LAST_SECOND)]
"""In milliseconds. A clock may be set back."""


def status_said(status: str) -> str:
    """The status of a run as the rest of a sentence about it."""
    return _SAID.get(status, f"is {status}")


class TaskState(BaseModel):
    """How far a task is."""

    model_config = ConfigDict(frozen=True)

    status: TaskStatus = "waiting"
    code: str = ""
    """Of its error."""
    error: str = ""
    began: Moment = 0
    ms: Duration = 0
    tries: int = 0
    before: str = ""
    """How the try before this one failed."""
    is_approved: bool = False
    value: Any = None
    """The task's result, if it is small; else it is in a record of its own."""
    is_stored: bool = False

    def again(self, why: str) -> Self:
        """The state of the task after this try failed, and before the next one."""
        told = f"Try {self.tries} failed: {why}"
        told = told if len(told) <= LONGEST_BEFORE else f"{told[: LONGEST_BEFORE - 1]}…"
        return self.model_copy(update={"status": "waiting", "before": told})


class Checkpoint(BaseModel):
    """A point at which a run waits for a decision."""

    model_config = ConfigDict(frozen=True)

    id: str
    kind: Literal["layer", "approval"]
    task: str = ""
    """That needs an approval."""
    arguments: dict[str, Any] = {}
    reason: str = ""
    only_human: bool = False
    since: Moment = 0


class Lease(BaseModel):
    """Whoever moves the run on, and until when that is so without a sign of life."""

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
    """The id of the one that it answers."""
    task: str = ""
    """That needed the approval."""
    asked: Moment = 0
    """When the question was asked that it answers."""
    by: str = ""
    """Who decided, for the middle of a sentence."""
    way: str = ""
    """The way by which the decision came: `page`, `terminal`, `dialogue` of a client, or the `agent` itself."""


WITH_PIN: Final = "the person with the PIN"
Way = Literal["page", "terminal", "dialogue", "agent"]


@dataclass(frozen=True, slots=True)
class Answerer:
    """Who answers a question, and by which way the answer came."""

    who: str
    """For the middle of a sentence."""
    way: Way
    is_person: bool
    """True: they proved to be a person."""


class Run(BaseModel):
    """One execution of a plan."""

    model_config = ConfigDict(frozen=True)

    plan: Plan
    tasks: dict[str, TaskState]
    safe: tuple[str, ...] = ()
    """The ids of tasks that may run again after an interruption: they change nothing, or nothing more."""
    gated: dict[str, str] = {}
    """The ids of tasks that need an approval, and why."""
    by_person: tuple[str, ...] = ()
    """Those of them that only a person may approve."""
    only_people: bool = False
    """True: that is so for all that need an approval, and for a pause after a layer."""
    by_layer: bool = False
    released: int = 1
    """With `by_layer`, how many layers may run."""
    status: RunStatus = "running"
    checkpoint: Checkpoint | None = None
    lease: Lease | None = None
    caller: dict[str, Any] = {}
    title: str = ""
    slot: tuple[str, str] | None = None
    began: Moment = 0
    ended: Moment = 0
    replans: int = 0
    decisions: tuple[Decision, ...] = ()
    token: str = ""
    """With which Step Functions is told that the run goes on."""

    def with_tasks(self, states: Mapping[str, TaskState]) -> Self:
        """The run with these tasks in these states."""
        if not states:
            return self
        return self.model_copy(update={"tasks": {**self.tasks, **states}})

    def with_ends(self, ends: Iterable[tuple[str, TaskState]]) -> Self:
        """The run after tries of these tasks ended. A task that does not run any more keeps its state."""
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
        """The run after whoever moved it on has died: what was running is repeated if that is safe.

        What was interrupted very often may be what kills Loci: it is not repeated any more.
        """
        changed = dict[str, TaskState]()
        for id, state in self.tasks.items():
            if state.status != "running":
                continue
            if id in self.safe and state.tries < MOST_TRIES:
                changed[id] = state.again(f"{INTERRUPTED}: Loci was stopped")
            else:
                changed[id] = _cut(state, now, INTERRUPTED, "Loci was stopped while it ran")
        return self.with_tasks(changed)

    def failed(self, now: float, code: str = "INTERNAL_ERROR", why: str = "Loci failed") -> Self:
        """The run after an error of Loci's own: nothing of it goes on."""
        changed = dict[str, TaskState]()
        for id, state in self.tasks.items():
            if state.status == "running":
                changed[id] = _cut(state, now, code, f"{why} while it ran")
            elif state.status == "waiting":
                update = {"status": "skipped", "code": code, "error": f"{why}: read its log"}
                changed[id] = state.model_copy(update=update)
        over = {"status": "error", "checkpoint": None, "lease": None, "ended": now}
        return self.with_tasks(changed).model_copy(update=over)

    def without_stranded(self) -> Self:
        """The run with every task skipped that waits for one that failed."""
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
            and all(self.tasks[other].status in SETTLED for other in one.after)
        ]

    def needs_approval(self, id: str) -> bool:
        """True if the task may not start yet."""
        return id in self.gated and not self.tasks[id].is_approved

    def running(self) -> list[str]:
        """The ids of the tasks that run."""
        return [id for id, state in self.tasks.items() if state.status == "running"]

    def unsettled(self) -> list[str]:
        """The ids of the tasks that have not ended."""
        return [id for id, state in self.tasks.items() if state.status not in SETTLED]

    def layers(self) -> list[list[str]]:
        """The ids of the tasks in layers."""
        return self.plan.layers()

    def is_settled(self) -> bool:
        """True if no task can run any more."""
        return not self.unsettled()

    def end_status(self) -> RunStatus:
        """How a settled run ended."""
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
        """True if those that wait for this task cannot run."""
        state = self.tasks[id].status
        return state == "skipped" or (state == "error" and self.plan[id].on_error == "fail")

    def _why_skipped(self, task: Task) -> str:
        blocking = next(one for one in task.after if self._blocks(one))
        how = "failed" if self.tasks[blocking].status == "error" else "was skipped"
        return f"{blocking} {how}"


def weighs(before: Run, after: Run) -> bool:
    """True if the change must survive a power cut: somebody decides or waits, or a task may not be repeated."""
    if (before.decisions, before.plan) != (after.decisions, after.plan) or after.status == "paused":
        return True
    changed = [id for id, state in after.tasks.items() if state is not before.tasks[id]]
    if not changed and after.status == "running":  # a sign of life, now and then
        return True
    if after.status != before.status and len(after.safe) < len(after.tasks):
        return True
    return any("running" in (before.tasks[id].status, after.tasks[id].status) for id in changed if id not in after.safe)


def _cut(state: TaskState, now: float, code: str, why: str) -> TaskState:
    told = f"{why}: it may have run, wholly or in part"
    ms = max(0.0, now - state.began) * 1000
    return state.model_copy(update={"status": "error", "code": code, "error": told, "ms": ms})
