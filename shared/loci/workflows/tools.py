"""The tools that run workflows, and their runs as tasks of the protocol, for clients that have its Tasks extension."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Final

from mcp_types import AudioContent, CallToolResult, ContentBlock, EmbeddedResource, ImageContent, TextContent
from pydantic import BaseModel, Field, StrictBool, ValidationError

from loci.core.errors import Refused
from loci.core.identity import Caller, Owner, asked_by
from loci.core.json import JsonObject
from loci.mcp.answers import as_text
from loci.mcp.approval import Person
from loci.mcp.caller import ProgressReport
from loci.mcp.tasks import LongTask, TaskStatus
from loci.mcp.tool import LociTool, loci_tool
from loci.workflows.answers import TOOL
from loci.workflows.api import Workflows
from loci.workflows.plan import MOST_TASKS
from loci.workflows.run import ENDED, Answerer, Run, question

if TYPE_CHECKING:
    from loci.app import App

WAITING = ThreadPoolExecutor(64, "workflows")
"""The threads of these tools: their calls take long, and must not delay others."""
LAYER_COMPLETE = "layer_complete"
"""The status of an answer whose run waits after a layer: the run itself is paused."""
CANCELLED = "cancelled by the client"
BLOCKS: Final = {"image": ImageContent, "audio": AudioContent, "resource": EmbeddedResource}
WorkflowId = Annotated[str, Field(max_length=100)]


class WorkflowAnswer(BaseModel):
    status: str = Field(description="complete, layer_complete, paused, running, aborted or error; plan: not run")
    workflow_id: str | None = None
    results: dict[str, Any] | None = Field(default=None, description="by the ids of the tasks")
    metrics: dict[str, float] | None = None
    tasks: list[dict[str, Any]] | None = None
    checkpoint_id: str | None = None
    next_action: str | None = None


class StatusAnswer(WorkflowAnswer):
    status: str = Field(description="as of pml_execute_dag; list: your workflows")
    workflows: list[dict[str, Any]] | None = Field(default=None, description="the newest first")
    total: int | None = None
    next_offset: int | None = None


class ReplanAnswer(BaseModel):
    status: str
    added: list[dict[str, Any]]
    total_tasks: int


def workflow_tools(app: "App") -> list[LociTool]:
    """`pml_execute_dag`, and what its runs wait for."""

    def execute_dag(
        caller: Caller,
        report: ProgressReport,
        intent: Annotated[
            str | None,
            Field(description="the goal; Loci plans it", max_length=4000),
        ] = None,
        workflow: Annotated[dict[str, Any] | None, Field(description='{"tasks": […]}')] = None,
        per_layer_validation: Annotated[StrictBool, Field(description="pause after each layer")] = False,
        config: Annotated[dict[str, Any] | None, Field(description='{"context": values}')] = None,
        title: str = "",
    ) -> Annotated[CallToolResult, WorkflowAnswer]:
        """Run several tools as a graph, in parallel where possible. Give `workflow` or `intent`.

        A task has `id`, `tool` (server:tool), `arguments`, and may have `dependsOn`, `timeout` (ms), `retry`,
        `on_error: "continue"`, `approve: true`. `$t1.result.items[0].name` in arguments is a part of what t1 gave, and
        makes the task wait for t1; `$$` is a dollar. `type: "code_execution"` runs `code` (TypeScript), which reads its
        arguments and `deps.t1`.
        """
        _check_one(intent, workflow)
        settings = config or {}
        _check_config(settings, has_intent=intent is not None)
        by_layer = per_layer_validation or settings.get("per_layer_validation", False)
        if intent is not None:
            context = settings.get("context", {})
            run = app.workflows.run_intent(
                caller, intent, context, by_layer=by_layer, title=title or intent, on_progress=report
            )
            return _answer(app, caller, run)
        run = app.workflows.start(caller, workflow or {}, by_layer=by_layer, title=title, on_progress=report)
        return _answer(app, caller, run)

    def continue_run(
        workflow_id: WorkflowId,
        caller: Caller,
        report: ProgressReport,
        reason: Annotated[str | None, Field(max_length=2000)] = None,
        retry: Annotated[
            list[WorkflowId] | None, Field(description="failed tasks to run again", max_length=MOST_TASKS)
        ] = None,
    ) -> Annotated[CallToolResult, WorkflowAnswer]:
        """Go on with a workflow that paused after a layer, or failed."""
        return _answer(app, caller, app.workflows.proceed(caller, workflow_id, reason, report, retry))

    def abort(
        workflow_id: WorkflowId,
        reason: Annotated[str, Field(max_length=2000)],
        caller: Caller,
    ) -> Annotated[CallToolResult, WorkflowAnswer]:
        """Stop a workflow."""
        _check_text("reason", reason, "Say why the workflow is stopped")
        return _answer(app, caller, app.workflows.abort(caller.owner, workflow_id, reason))

    def replan(
        workflow_id: WorkflowId,
        new_requirement: Annotated[str, Field(max_length=4000)],
        caller: Caller,
        available_context: dict[str, Any] | None = None,
        tasks: list[Any] | None = None,
    ) -> Annotated[CallToolResult, ReplanAnswer]:
        """Add tasks to a running workflow: yours, or planned by Loci."""
        _check_text("new_requirement", new_requirement, "Say what is to be added")
        context = available_context or {}
        return _answer(app, caller, app.workflows.replan(caller, workflow_id, new_requirement, context, tasks))

    def approval_response(
        workflow_id: WorkflowId,
        checkpoint_id: Annotated[str, Field(max_length=100)],
        approved: Annotated[StrictBool, Field(description="false: it does not run")],
        caller: Caller,
        report: ProgressReport,
        person: Person,
        feedback: Annotated[str | None, Field(max_length=2000)] = None,
    ) -> Annotated[CallToolResult, WorkflowAnswer]:
        """Answer the checkpoint at which a workflow waits for approval."""
        way = "dialogue" if person.has_approved else "agent"
        by = Answerer(asked_by(caller.as_json()), way, is_person=person.has_approved)
        return _answer(
            app,
            caller,
            app.workflows.decide(
                caller.owner,
                workflow_id,
                checkpoint_id,
                approved=approved,
                by=by,
                feedback=feedback,
                on_progress=report,
            ),
        )

    def workflow_status(
        caller: Caller,
        workflow_id: WorkflowId | None = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 20,
        offset: Annotated[int, Field(ge=0)] = 0,
    ) -> Annotated[CallToolResult, StatusAnswer]:
        """How far a workflow is, and what it waits for. Without an id: your workflows, the newest first."""
        return _answer(app, caller, _status(app.workflows, caller.owner, workflow_id, limit, offset))

    def tool(fn: Callable[..., Any], title: str, id: str, threads: ThreadPoolExecutor | None = WAITING) -> LociTool:
        return loci_tool(
            fn,
            title=title,
            id=id,
            writes=True,
            destructive=True,
            idempotent=False,
            open_world=True,
            only_for_clients=True,
            threads=threads,
            view="run",
        )

    return [
        tool(execute_dag, "Run a workflow", "pml:execute_dag"),
        tool(continue_run, "Continue a workflow", "pml:continue"),
        tool(abort, "Abort a workflow", "pml:abort", None),
        tool(replan, "Replan a workflow", "pml:replan"),
        tool(approval_response, "Answer a checkpoint", "pml:approval_response"),
        loci_tool(
            workflow_status,
            title="Look at a workflow",
            id="pml:workflow_status",
            only_for_clients=True,
            view="run",
        ),
    ]


def _status(workflows: Workflows, owner: Owner, id: str | None, limit: int, offset: int) -> JsonObject:
    if id is None:
        return workflows.views.listed(owner, limit, offset)
    answer = workflows.status(owner, id)
    return answer | ({"status": "paused"} if answer["status"] == LAYER_COMPLETE else {})


def _check_one(intent: str | None, workflow: dict[str, Any] | None) -> None:
    """Raise `Refused` unless one of them is given."""
    if intent is not None and workflow is not None:
        raise Refused(
            "Both intent and workflow are given", "Give one of them; title names a run", code="INVALID_PARAMS"
        )
    if intent is None and workflow is None:
        raise Refused("Neither intent nor workflow is given", "Give one of them", code="INVALID_PARAMS")
    if intent is not None:
        _check_text("intent", intent, "Say what is to be done")


def _check_text(name: str, text: str, resolution: str) -> None:
    """Raise `Refused` if the text says nothing."""
    if not text.strip():
        raise Refused(f"The {name} is empty", resolution, code="INVALID_PARAMS")


def _check_config(config: dict[str, Any], *, has_intent: bool) -> None:
    """Raise `Refused` if something in it would not count."""
    if unknown := [name for name in config if name not in ("per_layer_validation", "context")]:
        raise Refused(
            f"config has no {unknown[0][:80]!r}", "It may hold per_layer_validation and context", code="INVALID_PARAMS"
        )
    if not isinstance(config.get("per_layer_validation", False), bool):
        raise Refused("config.per_layer_validation is neither true nor false", "Correct it", code="INVALID_PARAMS")
    if not isinstance(config.get("context", {}), dict):
        raise Refused("config.context is no object", "Give names and values", code="INVALID_PARAMS")
    if "context" in config and not has_intent:
        raise Refused(
            "config.context is for an intent", "Give its values in the arguments of tasks", code="INVALID_PARAMS"
        )


def _answer(app: "App", caller: Caller, answer: JsonObject) -> CallToolResult:
    """The answer, followed by the images, sounds and files in the results of tasks."""
    said = TextContent(type="text", text=as_text(answer))
    content = [said, *media_blocks(app.workflows, caller.owner, answer)]
    return CallToolResult(content=content, structured_content=dict(answer))


def media_blocks(workflows: Workflows, owner: Owner, answer: JsonObject) -> list[ContentBlock]:
    """The images, sounds and files that follow the answer, for each task behind a text with its id."""
    content: list[ContentBlock] = []
    told = ""
    for task, block in workflows.parts.answers.media(owner, answer):
        if task != told:
            content.append(TextContent(type="text", text=f"From task {task}:"))
            told = task
        with suppress(ValidationError):  # code made it
            content.append(BLOCKS[str(block["type"])].model_validate(block))
    return content


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
        status, answer = _task_status(run), self._workflows.status(owner, id)
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


def _task_status(run: Run) -> TaskStatus:
    if run.status == "running":
        return "working"
    if run.checkpoint is not None and run.checkpoint.only_human:
        return "input_required"
    was_cancelled = run.status == "aborted" and any(one.reason == CANCELLED for one in run.decisions)
    return "cancelled" if was_cancelled else "completed"
