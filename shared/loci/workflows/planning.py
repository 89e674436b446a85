"""Plans for intents: made by a language model if there is one, else by rules; started, or added to a run."""

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
from loci.workflows.planner import Draft, Planner, earlier_task
from loci.workflows.proposal import Proposals
from loci.workflows.run import BY_LOCI, BY_PLAN, ENDED, FINISHED, Run, TaskState, WhoApproves, gates, status_text
from loci.workflows.runs import Runs
from loci.workflows.slice import WorkflowEngine
from loci.workflows.toolbox import Toolbox

RUN_IT: Final = "pml_execute_dag(workflow=…)"
ADD_IT: Final = "pml_replan(tasks=…)"
MOST_REPLANS: Final = 10


def _facts(draft: Draft) -> JsonObject:
    """The part of an answer that describes a plan, started or not."""
    return {"workflow": {"tasks": [*draft.tasks]}, "why": {**draft.why}}


def _plan_answer(draft: Draft, fault: LociError | None = None) -> JsonObject:
    """The answer with a plan that was not started: what keeps it from running, and what to do."""
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
    advice = f"Nothing has run. {'. '.join(told)}"
    open: JsonObject = {"missing_arguments": [*draft.missing], "candidates": [*draft.candidates]}
    return {"status": "plan", **_facts(draft), **open, "next_action": advice}


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
    """The run with these tasks added, and the added tasks. Tasks that have ended stay as they are."""
    check_replan(run)
    if len(run.plan.tasks) + len(tasks) > MOST_TASKS:
        raise Refused(
            f"The workflow would have more than {MOST_TASKS} tasks", "Start another one", code="INVALID_PARAMS"
        )
    gated, by_person = gates(tasks, checked, who, why)
    added = [_placed(run, one, {one.id for one in tasks}) for one in tasks]
    update = {
        "plan": Plan.from_tasks([*run.plan.tasks, *added]),
        "tasks": {**run.tasks, **{one.id: TaskState() for one in added}},
        "safe": (*run.safe, *(one.id for one in tasks if checked[one.id].is_safe)),
        "gated": {**run.gated, **gated},
        "by_person": (*run.by_person, *by_person),
        "replans": run.replans + 1,
    }
    return run.model_copy(update=update), added


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


@dataclass(frozen=True, slots=True)
class IntentRunner:
    """The way from an intent to the tasks of a run."""

    toolbox: Callable[[Owner], Toolbox]
    proposals: Proposals
    runs: Runs
    steps: Steps
    engine: WorkflowEngine
    clock: Callable[[], float]
    who_approves: WhoApproves

    def run(
        self, caller: Caller, intent: str, context: JsonObject, start: Callable[[JsonObject], JsonObject]
    ) -> JsonObject:
        """Plan for the intent, and start the plan if it is complete and certain; else only return it."""
        draft = self._draft(caller.owner, intent, context)
        if not draft.is_ready:
            return _plan_answer(draft)
        try:
            answer = start({"tasks": [*draft.gated_tasks()]})
        except Refused as fault:  # its arguments do not fit, or a tool of it is denied: nothing has run
            return _plan_answer(draft, fault)
        return {**answer, **_facts(draft)}

    def replan(self, owner: Owner, id: str, requirement: str, context: JsonObject) -> JsonObject:
        """Add the tasks for a requirement to a run that has not ended. Without such tasks, the run stays as it is."""
        while True:  # again if somebody else replans it meanwhile, which is possible a few times
            run = self.runs.get(owner, id)
            check_replan(run)
            draft = self._draft(owner, requirement, context, run)
            if not draft.is_ready:
                return _replan_answer(id, run, [], _plan_answer(draft))
            tasks, check = [Task.model_validate(one) for one in draft.gated_tasks()], self.steps.checker(owner)
            try:
                checked = {one.id: check(one) for one in tasks}
            except LociError as fault:
                return _replan_answer(id, run, [], _plan_answer(draft, fault))
            run, added = self._merge(owner, id, tasks, checked, requirement, run)
            if added:
                return _replan_answer(id, run, added, {"why": {**draft.why}})

    def add(
        self, owner: Owner, id: str, tasks: Sequence[Task], checked: Mapping[str, CheckedCall], reason: str
    ) -> JsonObject:
        """Add tasks that a caller wrote to a run that has not ended."""
        return _replan_answer(id, *self._merge(owner, id, tasks, checked, reason), {})

    def _merge(
        self,
        owner: Owner,
        id: str,
        tasks: Sequence[Task],
        checked: Mapping[str, CheckedCall],
        reason: str,
        planned_for: Run | None = None,
    ) -> tuple[Run, list[Task]]:
        """The run with the tasks added. None are added if they were planned for a run that has got others since."""
        added = list[Task]()

        def changed(run: Run) -> Run:
            if planned_for is not None and run.replans != planned_for.replans:
                added.clear()
                return run
            run, added[:] = merge_tasks(run, tasks, checked, self.who_approves, BY_LOCI if planned_for else BY_PLAN)
            what = f"replan: {', '.join(one.id for one in added)}"
            return run.decided(self.clock(), what, reason, answers=False)

        run, _ = self.runs.change(owner, id, changed)
        if added and run.status == "running":
            self.engine.start(owner, id)
        return run, added

    def _draft(self, owner: Owner, intent: str, context: JsonObject, run: Run | None = None) -> Draft:
        """A plan for the intent; for more tasks of a run, if one is given."""
        toolbox, tasks = self.toolbox(owner), run.plan.tasks if run else ()
        there = [one for one in tasks if run and run.tasks[one.id].status in ("waiting", "running", "success")]
        before = [_earlier(toolbox, one) for one in there]

        def check(new: list[JsonObject]) -> None:
            """Raise `LociError` if a caller could not run these tasks."""
            plan, check_task = Plan.parse({"tasks": [*new]}, tasks), self.steps.checker(owner)
            for one in plan.tasks[len(tasks) :]:
                check_task(one)
            excluded, _ = self.steps.missing_parts(owner, plan.tasks[len(tasks) :], plan)
            if excluded:
                raise invalid_plan(excluded)

        proposed = self.proposals.draft(toolbox, intent, context, before, check)
        return proposed or Planner(toolbox, context, [one.id for one in tasks], before).plan(intent)


def _earlier(toolbox: Toolbox, task: Task) -> Earlier:
    try:
        return earlier_task(task.id, toolbox.facts(task.tool), task.arguments)
    except LociError:  # it runs code, or its tool is gone
        return Earlier(task.id, task.tool, None, reads=True)


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
