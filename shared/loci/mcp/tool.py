"""A tool: the SDK's part of it, its id, and how large its answers may be."""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic_core import to_jsonable_python

from loci.core.identity import Caller
from loci.mcp.caller import caller_of
from loci.mcp.report import Report
from loci.mcp.threads import THREADS, WRITES, on_thread_of
from loci.mcp.tool_names import wire_name

Surface = Literal["all", "documents", "files", "tools"]
"""An endpoint: `/mcp` has all tools, `/mcp/documents` and the others a part of them."""
SURFACES: tuple[Surface, ...] = get_args(Surface)
BUDGET = 16 * 1024
TEXTS: tuple[object, ...] = (str, str | None)
NAMED = ("properties", "$defs")
"""The fields of a schema whose keys are names of what it describes."""
VALUES = ("default", "enum", "const", "examples")


@dataclass(frozen=True, slots=True)
class LociTool:
    """One tool."""

    id: str
    sdk_tool: Tool
    budget: int | None
    """Bytes of an answer. None: answers are never shortened."""
    quick: bool
    """True: it answers soon and reports nothing before, so its answer needs no open stream."""

    def answer(self, value: Any) -> CallToolResult | InputRequiredResult:
        """Turn a returned value into a result. A bare string is the text itself; anything else is one line of JSON."""
        if isinstance(value, CallToolResult | InputRequiredResult):
            return value
        if self.sdk_tool.output_schema is None:
            return self.sdk_tool.fn_metadata.convert_result(value)
        plain = to_jsonable_python(value, by_alias=True)
        structured = {"result": plain} if self.sdk_tool.fn_metadata.wrap_output else plain
        return CallToolResult(content=[TextContent(type="text", text=as_text(plain))], structured_content=structured)


class TextsAsTheyCame(FuncMetadata):
    """Reads arguments as the SDK does, but a text stays one: the SDK would take a text that is JSON for an object."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        return super().pre_parse_json(data) | {name: value for name, value in data.items() if self._is_text(name)}

    def _is_text(self, name: str) -> bool:
        field = self.arg_model.model_fields.get(name)
        kind: object = field and field.annotation
        return kind in TEXTS


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
    threads: ThreadPoolExecutor | None = None,
) -> LociTool:
    """Make a tool of a function. Its docstring is for the model. Loci fills in what has the type `Caller` or `Report`.

    A function that is not async runs on one of the threads. By default they are those for calls that write, or those
    for calls that answer soon.
    """
    id = id or fn.__name__
    sdk_tool = Tool.from_function(
        _as_the_sdk_calls_it(fn, threads or (WRITES if writes else THREADS)),
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
    metadata = dict(sdk_tool.fn_metadata)
    metadata["output_schema"] = short_nulls(untitled(sdk_tool.fn_metadata.output_schema))
    sdk_tool.fn_metadata = TextsAsTheyCame.model_construct(**metadata)
    sdk_tool.parameters = untitled(sdk_tool.parameters)
    return LociTool(id, sdk_tool, budget, quick)


def untitled(schema: Any) -> Any:
    """The schema without the titles that pydantic makes of the names: they cost a seventh of a listing."""
    if isinstance(schema, list):
        return [untitled(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    kept = dict[str, Any]()
    for name, value in cast("dict[str, Any]", schema).items():
        if name in NAMED:
            kept[name] = {one: untitled(part) for one, part in value.items()}
        elif name in VALUES:
            kept[name] = value
        elif not (name == "title" and isinstance(value, str)):
            kept[name] = untitled(value)
    return kept


def short_nulls(schema: Any) -> Any:
    """The schema of an answer, where what may be null says so in one word: that saves a tenth of a listing."""
    if isinstance(schema, list):
        return [short_nulls(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    kept = {name: short_nulls(value) for name, value in cast("dict[str, Any]", schema).items()}
    if kept.get("default", "") is None:
        del kept["default"]  # nobody fills in an answer
    match kept.get("anyOf"):
        case [{"type": str(kind), **rest}, {"type": "null"}] if not rest.keys() & {"enum", "const"}:
            del kept["anyOf"]
            return {"type": [kind, "null"], **rest, **kept}
        case _:
            return kept


def _as_the_sdk_calls_it(fn: Callable[..., Any], threads: ThreadPoolExecutor) -> Callable[..., Awaitable[Any]]:
    """Wrap the function: the SDK passes the context, the function gets the `Caller` and the `Report` if it asks."""
    wanted = inspect.signature(fn, eval_str=True)
    callers = [name for name, parameter in wanted.parameters.items() if parameter.annotation is Caller]
    reports = [name for name, parameter in wanted.parameters.items() if parameter.annotation is Report]
    shown = [parameter for name, parameter in wanted.parameters.items() if name not in (*callers, *reports)]
    context = inspect.Parameter("mcp_context", inspect.Parameter.KEYWORD_ONLY, annotation=Context[Any, Any])

    async def call(mcp_context: Context[Any, Any], **arguments: Any) -> Any:
        for name in callers:
            arguments[name] = caller_of(mcp_context.request_context)
        for name in reports:
            arguments[name] = Report(mcp_context, asyncio.get_running_loop())
        if inspect.iscoroutinefunction(fn):
            return await fn(**arguments)
        return await on_thread_of(threads, fn, **arguments)

    call.__name__, call.__doc__ = fn.__name__, fn.__doc__
    call.__annotations__ = {one.name: one.annotation for one in (*shown, context)}
    call.__annotations__["return"] = wanted.return_annotation
    setattr(call, "__signature__", wanted.replace(parameters=[*shown, context]))  # noqa: B010
    return call


def as_text(plain: Any) -> str:
    """The text for clients that read no structured content."""
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
