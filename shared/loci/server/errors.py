"""What a failed call answers: a code, what happened, what to do. Here and nowhere else a bug is caught."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, InputRequiredResult, TextContent
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from loci.errors import LociError, NotFound

INVALID_PARAMS = "INVALID_PARAMS"
INTERNAL_ERROR = "INTERNAL_ERROR"


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that gave no answer."""

    code: str
    result: CallToolResult
    bug: BaseException | None = None


ToolAnswer = CallToolResult | InputRequiredResult


async def attempt(call: Callable[[], Awaitable[ToolAnswer]]) -> ToolAnswer | Failure:
    """What the call answers, or its failure as a result that the model can act on."""
    try:
        return await call()
    except MCPError:
        raise  # the protocol's own errors go out as such
    except LociError as error:
        return _failure(error.code, error.what, error.resolution)
    except ToolError as error:
        return _behind(error)
    except Exception as error:  # noqa: BLE001 (the one place where a bug becomes an answer)
        return _bug(error)


def _behind(error: ToolError) -> Failure:
    """The SDK wraps whatever a tool raised."""
    match error.__cause__:
        case LociError() as cause:
            return _failure(cause.code, cause.what, cause.resolution)
        case ValidationError() as cause:
            return _failure(INVALID_PARAMS, _complaint(cause.errors()), "Correct the arguments and call again")
        case None | ToolError():
            return _failure("TOOL_ERROR", str(error.__cause__ or error), "Correct the arguments and call again")
        case cause:
            return _bug(cause)


def unknown_tool(name: str, known: Sequence[str]) -> NotFound:
    """The failure of a call whose tool is not here."""
    return NotFound(
        f"There is no tool {name[:80]!r} at this endpoint",
        f"Use tools/list; the tools here are {', '.join(known)}",
        code="TOOL_NOT_FOUND",
    )


def _complaint(faults: Sequence[ErrorDetails]) -> str:
    # The messages name the rule that was broken; the rejected values are the caller's data and stay out.
    return "; ".join(
        f"{'.'.join(str(part) for part in fault['loc']) or 'arguments'}: {fault['msg']}" for fault in faults
    )


def _bug(error: BaseException) -> Failure:
    failure = _failure(INTERNAL_ERROR, "Loci failed on this call", "Try again; if it stays, look at the server's log")
    return Failure(failure.code, failure.result, error)


def _failure(code: str, what: str, resolution: str) -> Failure:
    text = str(LociError(what, resolution))
    error = {"code": code, "message": what, "resolution": resolution}
    return Failure(
        code,
        CallToolResult(
            content=[TextContent(type="text", text=f"{code}: {text}")],
            structured_content={"error": error},
            is_error=True,
        ),
    )
