"""Workflows as tasks of the protocol: for clients that have its Tasks extension."""

from loci.core.identity import Caller, Owner, asked_by
from loci.core.json import JsonObject
from loci.mcp.tasks import LongTask, TaskStatus
from loci.workflows.answers import TOOL
from loci.workflows.api import Workflows
from loci.workflows.decisions import question
from loci.workflows.run import ENDED, Answerer, Run
from loci.workflows.tools import media_blocks

CANCELLED = "cancelled by the client"


class LongWorkflows:
    """`LongWork` that is a run. A pause that anybody may answer is an end: the model sees it as the tool's answer."""

    def __init__(self, workflows: Workflows) -> None:
        self._workflows = workflows

    def id_in(self, answer: JsonObject) -> str | None:
        id = answer.get("workflow_id")
        return id if isinstance(id, str) and answer.get("status") == "running" else None

    def look(self, owner: Owner, id: str) -> LongTask:
        parts = self._workflows.parts
        run = parts.runs.get(owner, id)
        status, answer = _status(run), self._workflows.status(owner, id)
        return LongTask(
            status,
            run.began,
            run.ended if run.status in ENDED else parts.clock(),
            parts.runs.seconds_kept(run),
            answer,
            TOOL,
            question(run) if status == "input_required" else "",
            run.checkpoint.id if run.checkpoint else "",
            parts.answers.link(owner, id, run) or "",
            media_blocks(self._workflows, owner, answer) if status == "completed" else (),
        )

    def decide(self, caller: Caller, id: str, question_id: str, *, approved: bool, is_person: bool) -> None:
        by = Answerer(asked_by(caller.as_json()), "dialogue" if is_person else "agent", is_person)
        self._workflows.decide(caller.owner, id, question_id, approved=approved, by=by, wait=False)

    def cancel(self, owner: Owner, id: str) -> None:
        if self._workflows.parts.runs.get(owner, id).status not in ENDED:
            self._workflows.abort(owner, id, CANCELLED)


def _status(run: Run) -> TaskStatus:
    if run.status == "running":
        return "working"
    if run.checkpoint is not None and run.checkpoint.only_human:
        return "input_required"
    was_cancelled = run.status == "aborted" and any(one.reason == CANCELLED for one in run.decisions)
    return "cancelled" if was_cancelled else "completed"
