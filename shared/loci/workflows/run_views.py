"""The views of runs for people: all runs, a run with its tasks, and the questions that runs wait on."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from loci.core.errors import NotFound
from loci.core.identity import Owner, asked_by
from loci.core.json import Json, JsonObject, iso
from loci.workflows.plan import Task
from loci.workflows.run import FINISHED, Checkpoint, Run, can_start_again, failed_tasks
from loci.workflows.runs import stored

if TYPE_CHECKING:
    from loci.workflows.parts import WorkflowParts

CODE: Final = "code_execution"
"""The mark for code, instead of the name of a tool."""
MOST_TOOLS: Final = 4
LONGEST_GOAL: Final = 80


class RunViews:
    """Reads runs for people. It resumes a run that nothing advances any more, and changes none otherwise."""

    def __init__(self, parts: "WorkflowParts", resume: Callable[[Owner, str, Run], object]) -> None:
        self._runs = parts.runs
        self._active = parts.active
        self._answers = parts.answers
        self._calls = parts.calls
        self._resume = resume

    def all(self, owner: Owner) -> list[JsonObject]:
        """All runs that are kept, the newest first."""
        return sorted(self._runs.rows(owner, row), key=lambda one: -cast("float", one["began"]))

    def listed(self, owner: Owner, limit: int, offset: int) -> JsonObject:
        """A page of the runs that are kept, the newest first, as an answer."""
        runs = self.all(owner)
        end = offset + limit
        more: JsonObject = {"next_offset": end} if end < len(runs) else {}
        return {"status": "list", "workflows": [listed(one) for one in runs[offset:end]], "total": len(runs), **more}

    def run(self, owner: Owner, id: str) -> JsonObject:
        """A run with its tasks, and what was decided. Raises `NotFound`."""
        run = self._runs.get(owner, id)
        self._resume(owner, id, run)
        return {**watched(id, run), "checkpoint": self._question(id, run)}

    def task(self, owner: Owner, id: str, task: str) -> JsonObject:
        """A task of a run with its arguments and, if it has ended well, its result. Raises `NotFound`."""
        run = self._runs.get(owner, id)
        if task not in run.tasks:
            raise NotFound(f"The workflow has no task {task[:80]!r}", "See its tasks with pml_workflow_status")
        given = self._answers.results(owner, id, run, [task])
        arguments = self._answers.arguments(owner, id, run, run.plan[task])
        return {**whole_task(run, task, arguments), **({"result": given[task]} if given else {})}

    def questions(self, owner: Owner) -> list[JsonObject]:
        """The questions that active runs and calls wait on, the oldest first. Reads no other runs."""
        states = self._active.states(owner)
        found = self._calls().questions(owner)
        for id in [id for id, (status, _) in states.items() if status == "paused"]:
            with suppress(NotFound):
                run = self._runs.get(owner, id)
                found += [asked] if (asked := self._question(id, run)) else []
        return sorted(found, key=lambda one: cast("float", one["since"]))

    def waiting(self, owner: Owner) -> int:
        """The number of these questions. It reads no more than the states of the active runs."""
        paused = sum(status == "paused" for status, _ in self._active.states(owner).values())
        return paused + len(self._calls().questions(owner))

    def _question(self, id: str, run: Run) -> JsonObject | None:
        """The run's question, and the time at which it expires."""
        if run.checkpoint is None:
            return None
        asked = question(id, run, run.checkpoint)
        return {**asked, "until": cast("float", asked["since"]) + self._runs.seconds_kept(run)}


def row(id: str, stored: JsonObject) -> JsonObject:
    """A run in a list, from its record: there may be thousands, and the record leaves out what is usual."""
    run = cast("dict[str, Any]", stored)
    states = [one.get("status", "waiting") for one in run["tasks"].values()]
    tools = [one.get("tool") or CODE for one in run["plan"]["tasks"]]
    asked = cast("dict[str, Any]", run.get("checkpoint") or {})
    return {
        "id": id,
        "title": run.get("title", ""),
        "asked_by": begun_by(run.get("caller", {}), run.get("repeats", "")),
        "status": run.get("status", "running"),
        "began": run.get("began", 0),
        "ended": run.get("ended"),
        "tasks": len(states),
        "done": sum(one in FINISHED for one in states),
        "failed": states.count("error"),
        "tools": [*list(dict.fromkeys(tools))[:MOST_TOOLS]],
        "waits_for": asked.get("kind"),
        "waits_task": asked.get("task") or None,
        "waits_since": asked.get("since"),
    }


def begun_by(caller: JsonObject, repeats: str) -> str:
    """The author of a run, for the middle of a sentence."""
    if not repeats:
        return asked_by(caller)
    rights = "" if caller.get("proof", "local") == "local" else f", as {asked_by(caller)}"
    return f"somebody on the page of runs{rights}"


def listed(row: JsonObject) -> JsonObject:
    """A run in an answer to a model, from its row."""
    some = cast("dict[str, Any]", row)
    told: JsonObject = {"workflow_id": some["id"], "status": some["status"], "goal": some["title"][:LONGEST_GOAL]}
    told |= {} if some["title"] else {"goal": ", ".join(some["tools"])}
    told |= {"done": f"{some['done']} of {some['tasks']} tasks", "began": iso(some["began"])}
    if some["failed"]:
        told["failed"] = some["failed"]
    match some["waits_for"]:
        case None:
            return told
        case "layer":
            waits = "pml_continue"
        case _:
            waits = f"an approval of {some['waits_task']}"
    return told | {"waits_for": waits, "since": iso(some["waits_since"] or some["began"])}


def watched(id: str, run: Run) -> JsonObject:
    """The run with its tasks, and with the decisions that were made."""
    return {
        **row(id, stored(run)),
        "repeats": run.repeats or None,
        "again": can_start_again(run),
        "layers": cast("list[Json]", run.layers()),
        "released": run.released if run.by_layer else None,
        "plan": [_task(run, one) for one in run.plan.tasks],
        "decisions": [one.model_dump() for one in run.decisions],
        "replans": run.replans,
        "retry": [*failed_tasks(run)] if run.status == "error" else [],
    }


def question(id: str, run: Run, asked: Checkpoint) -> JsonObject:
    """The run's question at this checkpoint, with the arguments as they will be."""
    task = run.plan[asked.task] if asked.task else None
    layers = run.layers()
    following = layers[run.released] if asked.kind == "layer" and run.released < len(layers) else []
    return {
        "workflow_id": id,
        "checkpoint_id": asked.id,
        "kind": asked.kind,
        "task": asked.task,
        "tool": tool_of(task) if task else "",
        "intent": task.intent if task else None,
        "title": run.title,
        "before": _before(run),
        "arguments": asked.arguments,
        "code": task.code if task else None,
        "reason": asked.reason,
        "only_human": asked.only_human,
        "asked_by": begun_by(run.caller, run.repeats),
        "since": asked.since or max([run.began, *(one.at for one in run.decisions), *_ends(run)]),
        "next": [*following],
    }


def _before(run: Run) -> list[Json]:
    """The tasks that ended before, and how, in the order in which they began."""
    ended = [(one.id, run.tasks[one.id]) for one in run.plan.tasks if run.tasks[one.id].status in FINISHED]
    ended.sort(key=lambda pair: pair[1].began)
    return [{"tool": tool_of(run.plan[id]), "outcome": state.code or "ok", "at": state.began} for id, state in ended]


def whole_task(run: Run, id: str, arguments: JsonObject) -> JsonObject:
    """A task as the plan has it, with its arguments as far as they are known."""
    task = run.plan[id]
    return {
        "id": id,
        "tool": tool_of(task),
        "code": task.code,
        "intent": task.intent,
        "written": task.arguments,
        "arguments": arguments,
    }


def tool_of(task: Task) -> str:
    """The tool of the task, or the mark for code."""
    return task.tool or CODE


def _task(run: Run, task: Task) -> JsonObject:
    state = run.tasks[task.id]
    return {
        "id": task.id,
        "tool": tool_of(task),
        "after": [*task.after],
        "status": state.status,
        "began": state.began or None,
        "ms": state.ms,
        "tries": state.tries,
        "before": state.before or None,
        "error": (f"{state.code}: {state.error}" if state.code else state.error) or None,
        "needs_approval": run.needs_approval(task.id),
        "is_approved": state.is_approved,
    }


def _ends(run: Run) -> Iterable[float]:
    return (one.began + one.ms / 1000 for one in run.tasks.values() if one.began)
