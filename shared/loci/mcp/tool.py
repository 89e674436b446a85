"""A tool as it is offered: under which id, how large an answer may be."""

import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic_core import to_jsonable_python

from loci.core.identity import Caller
from loci.mcp.caller import caller_of
from loci.mcp.threads import on_thread
from loci.mcp.tool_names import wire_name

Surface = Literal["all", "documents", "files", "tools"]
SURFACES: tuple[Surface, ...] = get_args(Surface)
BUDGET = 16 * 1024


@dataclass(frozen=True, slots=True)
class LociTool:
    """One tool. A budget of None: its answers are never shortened.

    A quick one is soon done and has nothing to tell before: its answer needs no open stream.
    """

    id: str
    tool: Tool
    budget: int | None
    quick: bool

    def answer(self, value: Any) -> CallToolResult | InputRequiredResult:
        """The value as a result: a bare string is the text itself, everything else one line of JSON."""
        if isinstance(value, CallToolResult | InputRequiredResult):
            return value
        if self.tool.output_schema is None:
            return self.tool.fn_metadata.convert_result(value)
        plain = to_jsonable_python(value, by_alias=True)
        structured = {"result": plain} if self.tool.fn_metadata.wrap_output else plain
        return CallToolResult(content=[TextContent(type="text", text=as_text(plain))], structured_content=structured)


def _offered(fn: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """The tool as the SDK calls it: it hands over the context, the tool gets the `Caller` where it asks for one.

    A tool that is not async runs on a thread.
    """
    wanted = inspect.signature(fn, eval_str=True)
    callers = [name for name, parameter in wanted.parameters.items() if parameter.annotation is Caller]
    shown = [parameter for name, parameter in wanted.parameters.items() if name not in callers]
    handed = inspect.Parameter("mcp_context", inspect.Parameter.KEYWORD_ONLY, annotation=Context[Any, Any])

    async def call(mcp_context: Context[Any, Any], **arguments: Any) -> Any:
        for name in callers:
            arguments[name] = caller_of(mcp_context.request_context)
        if inspect.iscoroutinefunction(fn):
            return await fn(**arguments)
        return await on_thread(fn, **arguments)

    call.__name__, call.__doc__ = fn.__name__, fn.__doc__
    call.__annotations__ = {one.name: one.annotation for one in (*shown, handed)} | {"return": wanted.return_annotation}
    setattr(call, "__signature__", wanted.replace(parameters=[*shown, handed]))  # noqa: B010
    return call


def as_text(plain: Any) -> str:
    """What a client sees that reads texts only."""
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def loci_tool(
    fn: Callable[..., Any],
    *,
    title: str,
    id: str | None = None,
    writes: bool = False,
    destructive: bool = False,
    idempotent: bool = True,
    open_world: bool = False,
    budget: int | None = BUDGET,
    quick: bool = False,
) -> LociTool:
    """The tool that `fn` is; its docstring is written for a model. A parameter that is a `Caller` is filled in."""
    id = id or fn.__name__
    made = Tool.from_function(
        _offered(fn),
        name=wire_name(id),
        title=title,
        description=inspect.getdoc(fn),  # without the indentation, which Python before 3.13 keeps
        annotations=ToolAnnotations(
            read_only_hint=not writes,
            destructive_hint=destructive,
            idempotent_hint=idempotent,
            open_world_hint=open_world,
        ),
    )
    return LociTool(id, made, budget, quick)
