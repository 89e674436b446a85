"""Tools, as the server offers them. Nothing here loads the vertical itself."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from loci.core.lazy import Lazy
from loci.mcp.module import Module, UnlistedTools
from loci.mcp.passed_on import CALL_TOOL
from loci.mcp.tool import LociTool
from loci.mcp.tool_catalog import tool_family

if TYPE_CHECKING:
    from loci.core.finding import Finding
    from loci.tools.tools import ToolsHost

INSTRUCTIONS = """

Tools of other servers: pml_search_tools finds them; call them by `tool_id` or pml_call_tool."""


def tools_module(app: "ToolsHost") -> Module:
    """The search for tools, and the calls of those that are not listed."""

    def tools() -> list[LociTool]:
        from loci.tools.tools import tool_tools

        return tool_tools(app)

    def unlisted() -> UnlistedTools:
        from loci.tools.unlisted import UpstreamCalls

        return UpstreamCalls(app.tools)

    def checks(fix: bool) -> "Iterable[Finding]":  # noqa: ARG001 (there is nothing to repair)
        from loci.tools.checks import check_tool_servers

        return check_tool_servers(app)

    return Module(
        name="tools",
        surfaces=frozenset({"tools"}),
        tools=[tool_family(tools, "pml:search_tools", CALL_TOOL, surfaces=("tools",))],
        instructions=INSTRUCTIONS,
        checks=checks,
        unlisted=Lazy(unlisted),
    )
