"""Tools, as the server offers them. Nothing here loads the vertical itself."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from loci.core.lazy import Lazy
from loci.mcp.module import Module
from loci.mcp.tool import CALL_TOOL, LociTool
from loci.mcp.tool_catalog import tool_family
from loci.mcp.upstream import UpstreamTools

if TYPE_CHECKING:
    from loci.core.finding import Finding
    from loci.tools.tools import ToolsHost

INSTRUCTIONS = """

Tools of other servers: pml_search_tools finds them; call them by `tool_id` or pml_call_tool."""


def tools_module(app: "ToolsHost") -> Module:
    """The search for tools, and the tools of other servers."""

    def tools() -> list[LociTool]:
        from loci.tools.tools import tool_tools

        return tool_tools(app)

    def capabilities() -> list[LociTool]:
        from loci.tools.capability_tools import capability_tools

        return capability_tools(app)

    def upstream() -> UpstreamTools:
        from loci.tools.tools import ServedTools

        return ServedTools(app.tools, app.settings)

    def checks(fix: bool) -> "Iterable[Finding]":  # noqa: ARG001 (there is nothing to repair)
        from loci.tools.checks import check_tool_servers

        return check_tool_servers(app)

    on = ("tools",)
    return Module(
        name="tools",
        surfaces=frozenset({"tools"}),
        tools=[
            tool_family(tools, "pml:search_tools", CALL_TOOL, surfaces=on, area="tools"),
            tool_family(capabilities, "pml:search_capabilities", "pml:delete_capability", surfaces=on, area="tools"),
        ],
        instructions=INSTRUCTIONS,
        upstream=Lazy(upstream),
        checks=checks,
    )
