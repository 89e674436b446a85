"""Turns the failure of a call into an answer: a code, what happened, what to do."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR as NOT_NOW
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND, CallToolResult, ContentBlock, TextContent
from pydantic import ValidationError

from loci.core.errors import LociError, NotFound, Refused, Unavailable
from loci.core.full_disk import disk_error
from loci.core.json import Json
from loci.core.telemetry import Outcome
from loci.mcp.threads import on_thread
from loci.mcp.tool import LONGEST_NAME, unfit_arguments

T = TypeVar("T")

INTERNAL_ERROR = "INTERNAL_ERROR"
UNKNOWN_TOOL = "TOOL_NOT_FOUND"
ERROR = "loci/error"
"""The name in the `_meta` of a failed result: its code, message, resolution and further details, for programs."""
METHODS = (
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
)
NEEDED = {
    "tools/call": "Give the `name` of a tool; tools/list lists them",
    "prompts/get": "Give the `name` of a prompt; prompts/list lists them",
    "resources/read": "Give the `uri` of a resource; resources/list lists them",
}
MOST_NAMED_FAULTS = 5


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call that gave no answer."""

    code: str
    result: CallToolResult
    bug: BaseException | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcome of the call, as the log names it."""
        return "bug" if self.bug else "error"


def failed_call(error: Exception) -> FailedCall:
    """Turn the failure of a call into a result that the model can act on."""
    match error:
        case LociError():
            return _failure(error)
        case ToolError():
            return _behind(error)
        case _:
            return _bug(error)


async def answer_request(work: Callable[[], T], about: Mapping[str, str] | None = None) -> T:
    """Run work that is no call of a tool on a thread. Its failure becomes an error of the protocol."""
    try:
        return await on_thread(work)
    except LociError as error:
        raise protocol_error(error, about) from error


def protocol_error(error: LociError, about: Mapping[str, str] | None = None) -> MCPError:
    """The error as one of the protocol."""
    code = INVALID_PARAMS if isinstance(error, NotFound | Refused) else NOT_NOW
    return MCPError(code, f"{error.code}: {error}", about)


def _behind(error: ToolError) -> FailedCall:
    """Unwrap the error of a tool: the SDK wraps whatever it raised."""
    match error.__cause__:
        case LociError() as cause:
            return _failure(cause)
        case ValidationError() as cause:
            return _failure(unfit_arguments(cause))
        case None | ToolError():
            said = str(error.__cause__ or error)
            return _failure(Refused(said, "Correct the arguments and call again", code="TOOL_ERROR"))
        case cause:
            return _bug(cause)


def unknown_tool(name: str, known: Sequence[str], advice: str = "Use tools/list") -> NotFound:
    """The failure of a call to a tool that this endpoint does not have."""
    return NotFound(
        f"There is no tool {name[:80]!r} at this endpoint",
        f"{advice}; the tools here are {', '.join(known)}",
        code=UNKNOWN_TOOL,
    )


def failed_result(content: Sequence[ContentBlock], told: Mapping[str, Json]) -> CallToolResult:
    """The result of a tool that failed: `content` is for the model, `told` for programs."""
    # Not structured content: clients check that against the tool's output schema (typescript-sdk#1943).
    return CallToolResult(content=[*content], is_error=True, _meta={ERROR: dict(told)})


def _bug(error: BaseException) -> FailedCall:
    if isinstance(error, OSError) and (told := disk_error(error)):
        return _failure(told)
    advice = "Try again. If it fails again, look at the server's log"
    failure = _failure(Unavailable("Loci failed on this call", advice, code=INTERNAL_ERROR))
    return FailedCall(failure.code, failure.result, error)


def _failure(error: LociError) -> FailedCall:
    told = {"code": error.code, "message": error.what, "resolution": error.resolution}
    content = [TextContent(type="text", text=f"{error.code}: {error}")]
    if error.details:
        content.append(TextContent(type="text", text=json.dumps(error.details, ensure_ascii=False)))
    return FailedCall(error.code, failed_result(content, {**error.details, **told}))


class ProtocolErrors:
    """Wraps every request. The codes are those of the protocol; only the texts are Loci's."""

    def __init__(self, is_tool: Callable[[str], bool]) -> None:
        self._is_tool = is_tool

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        try:
            return await call_next(ctx)
        except MCPError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            raise MCPError(METHOD_NOT_FOUND, self._unknown(ctx.method), error.data) from error
        except ValidationError as error:
            raise MCPError(INVALID_PARAMS, _malformed(ctx.method, error)) from error

    def _unknown(self, method: str) -> str:
        if method == "subscriptions/listen":
            return "Method not found: no answer stays open here. Nothing is told of changed lists: ask for them again"
        what = f"Method not found: there is no method {method[:LONGEST_NAME]!r}"
        if self._is_tool(method):
            return f'{what}, but a tool of that name. Send tools/call with params {{"name": …, "arguments": …}}'
        from difflib import get_close_matches  # requests that are known do without

        near = get_close_matches(method[:LONGEST_NAME], METHODS, n=1)
        asked = f"Did you mean {near[0]}? " if near else ""
        return f"{what}. {asked}The methods are {', '.join(METHODS)}; what Loci does is behind tools/call"


def _malformed(method: str, error: ValidationError) -> str:
    faults = dict.fromkeys(f"{_place(fault['loc'])}: {fault['msg']}" for fault in error.errors()[:MOST_NAMED_FAULTS])
    advice = NEEDED.get(method, "Correct them and send it again")
    return f"Invalid request parameters of {method[:LONGEST_NAME]}: {'; '.join(faults)}. {advice}"


def _place(place: Sequence[int | str]) -> str:
    return ".".join(str(part) for part in place) or "params"
