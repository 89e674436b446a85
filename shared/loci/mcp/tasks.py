"""The Tasks extension: work that outlasts its call is a task, for which the client asks by its id."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, Protocol, TypeVar, cast

from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import require_client_extension
from mcp.shared.exceptions import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    CallToolResult,
    ContentBlock,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    RequestParams,
    TextContent,
)
from pydantic import Field

from loci.core.errors import Refused
from loci.core.identity import Caller, Owner
from loci.core.json import JsonObject, iso
from loci.core.lazy import Lazy
from loci.core.scopes import check_scopes
from loci.core.trust import NoteReading, gathered
from loci.mcp.answers import BudgetedCall, ResultStore, as_text, with_light_blocks
from loci.mcp.approval import Approval
from loci.mcp.caller import caller_of, is_persons_client
from loci.mcp.errors import answer_request
from loci.mcp.threads import on_thread

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]
EXTENSION: Final = "io.modelcontextprotocol/tasks"
REVISIONS: Final = frozenset({"2026-07-28"})
POLL_MS: Final = 2000
TaskStatus = Literal["working", "input_required", "completed", "cancelled"]


@dataclass(frozen=True, slots=True)
class LongTask:
    """The state of a piece of work that outlasts its call."""

    status: TaskStatus
    began: float
    changed: float
    ttl_seconds: float
    answer: JsonObject
    """The answer of the tool, as it is now."""
    tool: str
    """The name of the tool."""
    question: str = ""
    """The question to a person, if the work waits for one."""
    question_id: str = ""
    page: str = ""
    """The address at which it is answered."""
    blocks: Sequence[ContentBlock] = ()
    """The images, sounds and files behind the answer."""


class TaskBackend(Protocol):
    """Work that goes on after its call has been answered."""

    def id_in(self, answer: JsonObject) -> str | None:
        """The id of the work that goes on; None if this answer is the end."""
        ...

    def look(self, owner: Owner, id: str) -> LongTask:
        """Return the state of the work. Raises `LociError` if there is no such work."""
        ...

    def decide(self, caller: Caller, id: str, question_id: str, *, approved: bool, is_person: bool) -> None:
        """Give it an answer. Raises `LociError` if this is not the question now, or it wants a person's."""
        ...

    def cancel(self, owner: Owner, id: str) -> None:
        """End it."""
        ...


class TaskParams(RequestParams):
    task_id: str = Field(alias="taskId", max_length=200)


class UpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(alias="inputResponses")


class Tasks(Extension):
    """The tasks extension, for clients that declare it. Other clients get an answer that says how to ask again."""

    identifier = EXTENSION

    def __init__(self, work: Lazy[TaskBackend], results: ResultStore, note: NoteReading) -> None:
        """`note`: notes that a caller gets texts of others, before they get them."""
        self._note = note
        self._work = work
        self._results = results

    def methods(self) -> Sequence[MethodBinding]:
        return [
            MethodBinding("tasks/get", TaskParams, self._get, REVISIONS),
            MethodBinding("tasks/update", UpdateParams, self._update, REVISIONS),
            MethodBinding("tasks/cancel", TaskParams, self._cancel, REVISIONS),
        ]

    async def task_of(self, ctx: Context, result: CallToolResult) -> HandlerResult:
        """The task in the place of a call's result, if the work goes on; else the result."""
        content = cast("object", result.structured_content)
        if not isinstance(content, dict):
            return result
        id = (await on_thread(self._work.get)).id_in(cast("JsonObject", content))
        return result if id is None else {**(await self._told(ctx, id)), "resultType": "task"}

    async def _get(self, ctx: Context, params: TaskParams) -> HandlerResult:
        _check(ctx, params, "workflows:read")
        return {**(await self._told(ctx, params.task_id)), "resultType": "complete"}

    async def _update(self, ctx: Context, params: UpdateParams) -> HandlerResult:
        _check(ctx, params, "approvals:write")
        work = await on_thread(self._work.get)
        for question, given in params.input_responses.items():
            approved = _approves(given)
            decide = partial(work.decide, caller_of(ctx), params.task_id, question)
            await answer_request(partial(decide, approved=approved, is_person=is_persons_client(ctx)))
        return {"resultType": "complete"}

    async def _cancel(self, ctx: Context, params: TaskParams) -> HandlerResult:
        _check(ctx, params, "workflows:write")
        work = await on_thread(self._work.get)
        await answer_request(lambda: work.cancel(_owner(ctx), params.task_id))
        return {"resultType": "complete"}

    async def _told(self, ctx: Context, id: str) -> dict[str, Any]:
        work = await on_thread(self._work.get)
        with gathered() as seen:
            task = await answer_request(lambda: work.look(_owner(ctx), id))
        if seen:
            await on_thread(self._note, caller_of(ctx), seen)
        told: dict[str, Any] = {
            "taskId": id,
            "status": task.status,
            "createdAt": iso(task.began),
            "lastUpdatedAt": iso(task.changed),
            "ttlMs": int(task.ttl_seconds * 1000),
            "pollIntervalMs": POLL_MS,
        }
        if task.status == "input_required":
            request = ElicitRequest(params=_question(task, is_answered_here=is_persons_client(ctx)))
            told["inputRequests"] = {
                task.question_id: request.model_dump(mode="json", by_alias=True, exclude_none=True)
            }
        if task.status == "completed":
            said = TextContent(type="text", text=as_text(task.answer))
            call = BudgetedCall(caller_of(ctx), task.tool, {}, reads=True, scopes=frozenset({"workflows:read"}))
            result = CallToolResult(content=[said, *task.blocks])
            light = await on_thread(with_light_blocks, call, result, self._results)
            content = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in light.content]
            told["result"] = {"content": content, "structuredContent": task.answer, "isError": False}
        return told


def _check(ctx: Context, params: TaskParams, scope: str) -> None:
    """Refuse who did not declare the extension, or may not do this, and a header that names another task."""
    require_client_extension(ctx, EXTENSION)
    try:
        check_scopes(caller_of(ctx), [scope], "This")
    except Refused as error:
        raise MCPError(INVALID_PARAMS, f"{error.code}: {error}") from None
    headers = getattr(ctx.request, "headers", None)
    if headers is not None and headers.get("mcp-name") != params.task_id:
        raise MCPError(HEADER_MISMATCH, "Mcp-Name does not name the task")


def _question(task: LongTask, *, is_answered_here: bool) -> ElicitRequestFormParams | ElicitRequestURLParams:
    """The question as a form, where a person fills it in; else the page on which they answer it."""
    if is_answered_here or not task.page:
        return ElicitRequestFormParams(message=task.question, requested_schema=Approval.model_json_schema())
    return ElicitRequestURLParams(message=task.question, url=task.page)


def _approves(given: object) -> bool:
    """True if a person accepted the form and said yes in it."""
    answer = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    content = answer.get("content")
    said = cast("dict[str, Any]", content).get("approve") if isinstance(content, dict) else None
    return answer.get("action") == "accept" and said is True


def _owner(ctx: Context) -> Owner:
    return caller_of(ctx).owner
