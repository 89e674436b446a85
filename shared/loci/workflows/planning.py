"""Plans for intents: made by a language model if there is one, else by rules; started, or added to a run."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from loci.core.errors import LociError, Refused
from loci.core.identity import Caller, Owner
from loci.core.json import Json, JsonObject
from loci.gateway.gateway import CheckedCall
from loci.workflows.attempts import Steps
from loci.workflows.binding import Earlier
from loci.workflows.plan import MOST_TASKS, Plan, Task, invalid_plan
from loci.workflows.planner import Draft, Planner, source_of
from loci.workflows.proposal import Proposals
from loci.workflows.run import BY_LOCI, BY_PLAN, ENDED, FINISHED, Run, TaskState, WhoApproves, gates, status_text
from loci.workflows.runs import Runs
from loci.workflows.slice import WorkflowEngine
from loci.workflows.toolbox import Toolbox

RUN_IT = "pml_execute_dag(workflow=…)"
ADD_IT = "pml_replan(tasks=…)"


class PlanMaker:
    """Makes plans, and runs none of them."""

    def __init__(self, toolbox: Callable[[Owner], Toolbox], steps: Steps, proposals: Proposals) -> None:
        self._toolbox = toolbox
        self._steps = steps
        self._proposals = proposals

    def draft(self, owner: Owner, intent: str, context: JsonObject, run: Run | None = None) -> Draft:
        """A plan for the intent; for more tasks of a run, if one is given."""
        toolbox, tasks = self._toolbox(owner), run.plan.tasks if run else ()
        before = _before(run, toolbox) if run else []

        def check(new: list[JsonObject]) -> None:
            """Raise `LociError` if a caller could not run these tasks."""
            plan, check_task = Plan.parse({"tasks": [*new]}, tasks), self._steps.checker(owner)
            for one in plan.tasks[len(tasks) :]:
                check_task(one)
            excluded, _ = self._steps.missing_parts(owner, plan.tasks[len(tasks) :], plan)
            if excluded:
                raise invalid_plan(excluded)

        proposed = self._proposals.draft(toolbox, intent, context, before, check)
        return proposed or Planner(toolbox, context, [one.id for one in tasks], before).plan(intent)


def plan_answer(draft: Draft, fault: LociError | None = None) -> JsonObject:
    """The answer with a plan that was not started."""
    return {
        "status": "plan",
        **plan_facts(draft),
        "missing_arguments": [*draft.missing],
        "candidates": [*draft.candidates],
        "next_action": _advice(draft, fault),
    }


def plan_facts(draft: Draft) -> JsonObject:
    """The part of an answer that describes a plan, started or not."""
    tasks: list[Json] = [*draft.tasks]
    why: JsonObject = {**draft.why}
    return {"workflow": {"tasks": tasks}, "why": why}


def _advice(draft: Draft, fault: LociError | None) -> str:
    """Say what keeps the plan from running, and what to do."""
    told = list[str]()
    if draft.reason:
        told.append(f"A language model found that no tool suffices: {draft.reason}")
    elif draft.unknown:
        steps = "; ".join(repr(one) for one in draft.unknown)
        near = " (candidates has the nearest)" if any(one["tools"] for one in draft.candidates) else ""
        told.append(f"Probably no tool does {steps}{near}. Find others with pml_search_tools, or connect a tool server")
    if draft.tasks and any(one["task"] for one in draft.candidates):
        told.append("Check the tools of the workflow: candidates has those that may be meant, and what they take")
    if draft.missing:
        told.append("Add the arguments that missing_arguments names")
    if fault is not None:
        told.append(f"Correct the workflow: {fault}")
    if draft.tasks:
        told.append(f"Then run it with {RUN_IT}" if told else f"Check the workflow, then run it with {RUN_IT}")
    return f"Nothing has run. {'. '.join(told)}"


def _before(run: Run, toolbox: Toolbox) -> list[Earlier]:
    """The tasks of a run whose results are available, or will be."""
    return [
        Earlier(one.id, one.tool, one.arguments, _output(toolbox, one.tool), source_of(one.arguments))
        for one in run.plan.tasks
        if run.tasks[one.id].status in ("waiting", "running", "success")
    ]


def _output(toolbox: Toolbox, tool: str) -> JsonObject | None:
    try:
        return toolbox.facts(tool).output_schema if tool else None
    except LociError:
        return None


MOST_REPLANS: Final = 10
_REFERENCE: Final = re.compile(r"(?<!\$)\$(\{?)([A-Za-z0-9_][A-Za-z0-9_-]*)(?=\.result)")


def check_replan(run: Run) -> None:
    """Raise `Refused` if the run takes no more tasks."""
    if run.status in ENDED:
        raise Refused(
            f"The workflow has ended already: it {status_text(run.status)}",
            "Start another one with pml_execute_dag",
            code="WORKFLOW_ENDED",
        )
    if run.replans >= MOST_REPLANS:
        raise Refused(
            f"The workflow was replanned {run.replans} times, which is the most",
            "Let it end, or abort it and start another one with pml_execute_dag",
            code="TOO_MANY_REPLANS",
        )


def merge_tasks(
    run: Run, tasks: Sequence[Task], checked: Mapping[str, CheckedCall], who: WhoApproves, why: str
) -> tuple[Run, list[Task]]:
    """The run with these tasks added, and the added tasks. Tasks that have ended stay as they are.

    Tasks that Loci planned get other ids where the run has theirs. Those that a caller wrote keep theirs.
    """
    check_replan(run)
    if len(run.plan.tasks) + len(tasks) > MOST_TASKS:
        raise Refused(
            f"The workflow would have more than {MOST_TASKS} tasks", "Start another one", code="INVALID_PARAMS"
        )
    gated, by_person = gates(tasks, checked, who, why)
    names = _names(run, tasks) if why == BY_LOCI else {one.id: one.id for one in tasks}
    added = [_placed(run, _renamed(one, names), set(names.values())) for one in tasks]
    plan = Plan.from_tasks([*run.plan.tasks, *added])
    safe = [names[one.id] for one in tasks if checked[one.id].is_safe]
    return (
        run.model_copy(
            update={
                "plan": plan,
                "tasks": {**run.tasks, **{one.id: TaskState() for one in added}},
                "safe": (*run.safe, *safe),
                "gated": {**run.gated, **{names[id]: why for id, why in gated.items()}},
                "by_person": (*run.by_person, *(names[id] for id in by_person)),
                "replans": run.replans + 1,
            }
        ),
        added,
    )


def _names(run: Run, tasks: Sequence[Task]) -> dict[str, str]:
    """The ids of the new tasks in the run: their own, unless another task has them."""
    taken = {one.id for one in run.plan.tasks}
    names = dict[str, str]()
    for one in tasks:
        free = (f"{one.id}_{number}" for number in range(2, MOST_TASKS * 2))
        names[one.id] = one.id if one.id not in taken else next(id for id in free if id not in taken)
        taken.add(names[one.id])
    return names


def _renamed(task: Task, names: Mapping[str, str]) -> Task:
    changed = {old: new for old, new in names.items() if old != new}
    if not changed:
        return task

    def told(value: Json) -> Json:
        match value:
            case str():
                return _REFERENCE.sub(lambda found: f"${found[1]}{changed.get(found[2], found[2])}", value)
            case list():
                return [told(one) for one in value]
            case dict():
                return {name: told(one) for name, one in value.items()}
            case _:
                return value

    arguments: JsonObject = {name: told(one) for name, one in task.arguments.items()}
    after = tuple(names.get(one, one) for one in task.depends_on)
    return task.model_copy(update={"id": names[task.id], "arguments": arguments, "depends_on": after})


def _placed(run: Run, task: Task, new: set[str]) -> Task:
    """The task in the layer after the released ones, if the run pauses after each layer."""
    if not run.by_layer:
        return task
    layers = run.layers()
    released = {id for layer in layers[: run.released] for id in layer}
    if any(one in new or one not in released for one in task.after):
        return task
    last = layers[min(run.released, len(layers)) - 1]
    if any(one in last for one in task.after):
        return task
    good = [one for one in last if run.tasks[one].status == "success"]
    good += [one for one in last if run.tasks[one].status not in FINISHED]
    good += [one for one in last if run.tasks[one].status == "error" and run.plan[one].on_error == "continue"]
    return task.model_copy(update={"depends_on": (*task.depends_on, good[0])}) if good else task


Start = Callable[[JsonObject], JsonObject]
"""Starts a plan, and gives the answer of its run."""


@dataclass(frozen=True, slots=True)
class IntentRunner:
    """The way from an intent to the tasks of a run."""

    planning: PlanMaker
    runs: Runs
    steps: Steps
    engine: WorkflowEngine
    clock: Callable[[], float]
    who_approves: WhoApproves

    def run(self, caller: Caller, intent: str, context: JsonObject, start: Start) -> JsonObject:
        """Plan for the intent, and start the plan if it is complete and certain; else only return it."""
        draft = self.planning.draft(caller.owner, intent, context)
        if not draft.is_ready:
            return plan_answer(draft)
        try:
            answer = start({"tasks": [*draft.gated_tasks()]})
        except Refused as fault:  # its arguments do not fit, or a tool of it is denied: nothing has run
            return plan_answer(draft, fault)
        return {**answer, **plan_facts(draft)}

    def replan(self, owner: Owner, id: str, requirement: str, context: JsonObject) -> JsonObject:
        """Add the tasks for a requirement to a run that has not ended. Without such tasks, the run stays as it is."""
        run = self.runs.get(owner, id)
        check_replan(run)
        draft = self.planning.draft(owner, requirement, context, run)
        if not draft.is_ready:
            return _replan_answer(id, run, [], plan_answer(draft))
        tasks = [Task.model_validate(one) for one in draft.gated_tasks()]
        check = self.steps.checker(owner)
        try:
            checked = {one.id: check(one) for one in tasks}
        except LociError as fault:
            return _replan_answer(id, run, [], plan_answer(draft, fault))
        return self.add(owner, id, tasks, checked, requirement, draft)

    def add(
        self,
        owner: Owner,
        id: str,
        tasks: Sequence[Task],
        checked: Mapping[str, CheckedCall],
        reason: str,
        draft: Draft | None = None,
    ) -> JsonObject:
        """Add tasks to a run that has not ended: those of the draft, or else those that a caller wrote."""
        added = list[Task]()

        def changed(run: Run) -> Run:
            run, added[:] = merge_tasks(run, tasks, checked, self.who_approves, BY_LOCI if draft else BY_PLAN)
            what = f"replan: {', '.join(one.id for one in added)}"
            return run.decided(self.clock(), what, reason, answers=False)

        run, _ = self.runs.change(owner, id, changed)
        if run.status == "running":
            self.engine.start(owner, id)
        told: JsonObject = {"why": {**draft.why}} if draft else {}
        return _replan_answer(id, run, added, told)


def _replan_answer(id: str, run: Run, added: list[Task], more: JsonObject) -> JsonObject:
    """The answer about a replan: the added tasks, and how the run goes on."""
    diff: list[Json] = [
        {
            "id": one.id,
            "tool": one.tool or "code_execution",
            "arguments": one.arguments,
            "dependsOn": [*one.after],
            "needs_approval": one.id in run.gated,
        }
        for one in added
    ]
    if not added:
        following = f"The workflow was not changed. {more['next_action']}".replace(RUN_IT, ADD_IT)
    elif run.checkpoint is not None and run.checkpoint.kind == "approval":
        following = "Use pml:approval_response to answer its checkpoint, then it goes on"
    elif run.status == "paused":
        following = "Use pml:continue to proceed"
    else:
        following = "It goes on. Use pml:workflow_status to see how far it is"
    return {
        **more,
        "status": run.status,
        "workflow_id": id,
        "added": diff,
        "new_tasks_count": len(added),
        "total_tasks": len(run.plan.tasks),
        "next_action": following,
    }
