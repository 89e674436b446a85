"""Decisions about a run. They give its next state, and change nothing."""

import json
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from loci.core.errors import LociError, Refused
from loci.core.seen import seen
from loci.gateway.gateway import CheckedCall
from loci.workflows.plan import Task
from loci.workflows.run import ENDED, Answerer, Checkpoint, Run, TaskState, status_said

LONGEST_ARGUMENTS: Final = 4000

WhoApproves = Literal["policy", "person", "caller"]
"""As the setting `workflow_approval` has it."""
BY_PLAN: Final = "the plan says so"
BY_LOCI: Final = "Loci planned it, and it may change something"


def gates(
    tasks: Sequence[Task], checked: Mapping[str, CheckedCall], who: WhoApproves, why: str = BY_PLAN
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The tasks that need an approval, each with the reason, and those of them that only a person may approve.

    `why`: the reason for those that the plan itself has marked.
    """
    reasons = {one.id: checked[one.id].approval or (why if one.approve else None) for one in tasks}
    gated = {id: reason for id, reason in reasons.items() if reason is not None}

    def is_for_people(task: Task) -> bool:
        if task.approve == "human" or who == "person":
            return True
        return who == "policy" and checked[task.id].approval is not None

    return gated, tuple(one.id for one in tasks if one.id in gated and is_for_people(one))


def continued(run: Run, now: float, reason: str | None, by: Answerer) -> Run:
    """The run that goes on after a layer. One that does not wait stays as it is."""
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


def open_checkpoint(run: Run, id: str) -> Checkpoint:
    """The checkpoint at which the run waits. Raises `Refused` if that is not this one."""
    if run.checkpoint is None or run.checkpoint.id != id:
        over = f"It does not wait: it {status_said(run.status)}"
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
    """The run whose checkpoint was answered so."""
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
    with_what = seen(json.dumps(checkpoint.arguments, ensure_ascii=False))
    if task.code:
        with_what += f": {seen(task.code)}"
    if len(with_what) > LONGEST_ARGUMENTS:
        with_what = f"{with_what[:LONGEST_ARGUMENTS]}… ({len(with_what):,} characters in all)"
    return f"Only a person may approve task {checkpoint.task!r}: {what} with {with_what}"


def stopped(run: Run, now: float, reason: str) -> Run:
    """The run that somebody aborted. Raises `Refused` if it has ended."""
    if run.status in ENDED:
        raise Refused(
            f"The workflow has ended already: it {status_said(run.status)}",
            "See its results with pml_workflow_status",
            code="WORKFLOW_ENDED",
        )
    return aborted(run.decided(now, "abort", reason), now)


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
