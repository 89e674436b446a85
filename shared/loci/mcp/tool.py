"""A tool: the SDK's part of it, its id, and how large its answers may be."""

import inspect
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic_core import to_jsonable_python

from loci.core.identity import Caller
from loci.core.scopes import check_one_scope, check_scopes
from loci.mcp.arguments import Arguments
from loci.mcp.listed_schema import listed_input, listed_output
from loci.mcp.threads import THREADS, WRITES
from loci.mcp.tool_function import ToolFunction
from loci.mcp.tool_names import wire_name

Surface = Literal["all", "documents", "files", "tools", "search"]
"""An endpoint: `/mcp` has all tools, `/mcp/documents` and the others a part of them."""
SURFACES: tuple[Surface, ...] = get_args(Surface)
OWN_TOOLS: tuple[Surface, ...] = tuple(one for one in SURFACES if one != "search")
"""The endpoints for clients that know Loci's tools. `/mcp/search` has only the two that some clients ask for."""
BUDGET = 16 * 1024
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class LociTool:
    """One tool."""

    id: str
    sdk_tool: Tool
    function: ToolFunction
    budget: int | None
    """Bytes of an answer. None: answers are never shortened."""
    quick: bool
    """True: it answers soon and reports nothing before, so its answer needs no open stream."""
    only_for_clients: bool
    """True: code and workflows may not call it, because it runs code or calls tools itself."""
    scopes: frozenset[str] = frozenset()
    """A client that a person allowed needs all of these for it."""
    one_of: frozenset[str] = frozenset()
    """It needs at least one of these, too, unless there are none. The tool does only what it may with those it has."""

    @property
    def reads(self) -> bool:
        """True if it says that it changes nothing."""
        told = self.sdk_tool.annotations
        return told is not None and told.read_only_hint is True

    def may_be_called_by(self, caller: Caller) -> bool:
        """True if it would not refuse the caller."""
        return all(map(caller.may, self.scopes)) and (not self.one_of or any(map(caller.may, self.one_of)))

    def check(self, caller: Caller, name: str) -> None:
        """Raise `Refused` if the caller may not call it. `name` is how the refusal calls it."""
        check_scopes(caller, self.scopes, name)
        if self.one_of:
            check_one_scope(caller, self.one_of, name)

    @property
    def is_step(self) -> bool:
        """True if its use is counted: which tools follow it, which it follows.

        Agents look around before everything, so tools that only read would be related to all others. What code calls
        is counted itself.
        """
        return not (self.reads or self.only_for_clients)

    @cached_property
    def listed_output(self) -> dict[str, Any] | None:
        """The schema of its answers, as clients are sent it."""
        schema = self.sdk_tool.output_schema
        return schema and listed_output(schema)

    def answer(self, value: Any) -> CallToolResult | InputRequiredResult:
        """Turn a returned value into a result. A bare string is the text itself; anything else is one line of JSON."""
        if isinstance(value, CallToolResult | InputRequiredResult):
            return value
        if self.sdk_tool.output_schema is None:
            return self.sdk_tool.fn_metadata.convert_result(value)
        plain = to_jsonable_python(value, by_alias=True)
        structured = {"result": plain} if self.sdk_tool.fn_metadata.wrap_output else plain
        return CallToolResult(content=[TextContent(type="text", text=as_text(plain))], structured_content=structured)


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
    only_for_clients: bool = False,
    threads: ThreadPoolExecutor | None = None,
) -> LociTool:
    """Make a tool of a function. Its docstring is for the model. Loci fills in what has the type `Caller` or `Report`.

    A function that is not async runs on one of the threads. By default they are those for calls that write, or those
    for calls that answer soon.
    """
    id = id or fn.__name__
    function = ToolFunction(fn)
    sdk_tool = Tool.from_function(
        function.for_the_sdk(threads or (WRITES if writes else THREADS)),
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
    sdk_tool.fn_metadata = Arguments.model_construct(**dict(sdk_tool.fn_metadata))
    sdk_tool.parameters = listed_input(sdk_tool.parameters)
    return LociTool(id, sdk_tool, function, budget, quick, only_for_clients)


def as_text(plain: Any) -> str:
    """The text for clients that read no structured content."""
    return plain if isinstance(plain, str) else _JSON.encode(plain)
