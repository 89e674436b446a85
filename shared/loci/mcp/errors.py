"""Turns the failure of a call into an answer: a code, what happened, what to do."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR as NOT_NOW
from mcp_types import INVALID_PARAMS, CallToolResult, ContentBlock, TextContent
from pydantic import ValidationError

from loci.core.errors import LociError, NotFound, Refused, Unavailable
from loci.core.full_disk import disk_error
from loci.core.json import Json
from loci.core.telemetry import Outcome
from loci.mcp.threads import on_thread
from loci.mcp.tool import unfit_arguments

T = TypeVar("T")

INTERNAL_ERROR = "INTERNAL_ERROR"
UNKNOWN_TOOL = "TOOL_NOT_FOUND"
ERROR = "loci/error"
"""The name in the `_meta` of a failed result: its code, message, resolution and further details, for programs."""


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
