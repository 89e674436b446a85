"""The changes of a run between two states of it, as events tell them."""

from collections.abc import Iterator

from loci.core.events import EventKind
from loci.core.identity import asked_by
from loci.core.json import JsonObject
from loci.events.event import argument_sizes
from loci.workflows.run import SETTLED, Checkpoint, Run


def transitions(id: str, before: Run | None, after: Run) -> Iterator[tuple[EventKind, JsonObject]]:
    """Each change of a task's state, of the run's, and each question to a person and its answer."""
    for task, state in after.tasks.items():
        was = before.tasks.get(task) if before else None
        if was is state or (was is None and state.status == "waiting") or (was and was.status == state.status):
            continue
        fields: JsonObject = {"workflow": id, "task": task, "tool": _tool(after, task), "from": was and was.status}
        told: JsonObject = {**fields, "to": state.status, "tries": state.tries}
        if state.status in SETTLED:
            told |= {"code": state.code, "ms": round(state.ms, 2)}
        yield "workflow", told
    yield from _decisions(id, before, after)
    if before is None or before.status != after.status:
        yield "workflow", {"workflow": id, "task": None, "from": before and before.status, "to": after.status}
    if after.checkpoint is not None and (before is None or before.checkpoint != after.checkpoint):
        yield "approval", {"state": "asked", **_checkpoint(id, after, after.checkpoint)}


def _decisions(id: str, before: Run | None, after: Run) -> Iterator[tuple[EventKind, JsonObject]]:
    if before is None or before.checkpoint is None or before.checkpoint == after.checkpoint:
        return
    fields = _checkpoint(id, before, before.checkpoint)
    for one in after.decisions[len(before.decisions) :]:
        yield (
            "approval",
            {"state": "answered", **fields, "decision": one.what.partition(" ")[0].rstrip(":"), "way": one.way},
        )


def _checkpoint(id: str, run: Run, checkpoint: Checkpoint) -> JsonObject:
    task = checkpoint.task or None
    return {
        "workflow": id,
        "checkpoint": checkpoint.id,
        "waits_for": checkpoint.kind,
        "task": task,
        "tool": _tool(run, task) if task else None,
        "arguments": argument_sizes(checkpoint.arguments),
        "only_person": checkpoint.only_human,
        "title": run.title,
        "asked_by": asked_by(run.caller),
    }


def _tool(run: Run, id: str) -> str:
    return run.plan[id].tool or "code"
