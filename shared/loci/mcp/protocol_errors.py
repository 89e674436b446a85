"""Requests that no tool sees, because they are malformed or unknown: the error says what to send instead."""

from collections.abc import Callable, Sequence
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND
from pydantic import ValidationError

METHODS = (
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "completion/complete",
)
NEEDED = {
    "tools/call": "Give the `name` of a tool; tools/list lists them",
    "prompts/get": "Give the `name` of a prompt; prompts/list lists them",
    "resources/read": "Give the `uri` of a resource; resources/list lists them",
}
LONGEST_NAME = 80
MOST_FAULTS = 5


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
        what = f"Method not found: there is no method {method[:LONGEST_NAME]!r}"
        if self._is_tool(method):
            return f'{what}, but a tool of that name. Send tools/call with params {{"name": …, "arguments": …}}'
        from difflib import get_close_matches  # requests that are known do without

        near = get_close_matches(method[:LONGEST_NAME], METHODS, n=1)
        asked = f"Did you mean {near[0]}? " if near else ""
        return f"{what}. {asked}The methods are {', '.join(METHODS)}; what Loci does is behind tools/call"


def _malformed(method: str, error: ValidationError) -> str:
    faults = dict.fromkeys(f"{_place(fault['loc'])}: {fault['msg']}" for fault in error.errors()[:MOST_FAULTS])
    advice = NEEDED.get(method, "Correct them and send it again")
    return f"Invalid request parameters of {method[:LONGEST_NAME]}: {'; '.join(faults)}. {advice}"


def _place(place: Sequence[int | str]) -> str:
    return ".".join(str(part) for part in place) or "params"
