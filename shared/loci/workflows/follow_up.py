"""Starts runs for intents, and adds to runs what is asked for later."""

from collections.abc import Callable
from dataclasses import dataclass

from loci.core.errors import LociError, Refused
from loci.core.identity import Caller, Owner
from loci.core.json import Json, JsonObject
from loci.workflows.decisions import WhoApproves
from loci.workflows.plan import Task
from loci.workflows.planning import Planning, facts, planned
from loci.workflows.replanning import check_replan, merged
from loci.workflows.run import Run
from loci.workflows.runs import Runs
from loci.workflows.slice import WorkflowEngine
from loci.workflows.steps import Steps

Start = Callable[[JsonObject], JsonObject]
"""Starts a plan, and gives the answer of its run."""


@dataclass(frozen=True, slots=True)
class Pursuit:
    """The way from an intent to the tasks of a run."""

    planning: Planning
    runs: Runs
    steps: Steps
    engine: WorkflowEngine
    clock: Callable[[], float]
    who_approves: WhoApproves

    def pursue(self, caller: Caller, intent: str, context: JsonObject, start: Start) -> JsonObject:
        """Plan for the intent, and start the plan if nothing is missing and it is likely right; else only tell it."""
        draft = self.planning.draft(caller.owner, intent, context)
        if not draft.is_ready:
            return planned(draft)
        try:
            answer = start(draft.gated())
        except Refused as fault:  # its arguments do not fit, or a tool of it is denied: nothing has run
            return planned(draft, fault)
        return {**answer, **facts(draft)}

    def replan(self, owner: Owner, id: str, requirement: str, context: JsonObject) -> JsonObject:
        """Add the tasks for a requirement to a run that has not ended. If none are found, it stays as it is."""
        run = self.runs.get(owner, id)
        check_replan(run)
        draft = self.planning.draft(owner, requirement, context, run)
        if not draft.is_ready:
            return _told(id, run, [], planned(draft))
        tasks = [Task.model_validate(one) for one in draft.gated_tasks()]
        check = self.steps.checker(owner)
        try:
            checked = {one.id: check(one) for one in tasks}
        except LociError as fault:
            return _told(id, run, [], planned(draft, fault))
        added = list[Task]()

        def changed(run: Run) -> Run:
            run, added[:] = merged(run, tasks, checked, self.who_approves)
            what = f"replan: {', '.join(one.id for one in added)}"
            return run.decided(self.clock(), what, requirement, answers=False)

        run, _ = self.runs.change(owner, id, changed)
        if run.status == "running":
            self.engine.start(owner, id)
        return _told(id, run, added, {"confidence": draft.confidence, "why": {**draft.why}})


def _told(id: str, run: Run, added: list[Task], more: JsonObject) -> JsonObject:
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
        following = f"The workflow was not changed. {more['next_action']}".replace(
            "then run it with pml_execute_dag(workflow=…)", "or say them in new_requirement or available_context"
        )
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
