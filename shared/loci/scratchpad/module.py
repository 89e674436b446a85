"""The scratchpad, as the server offers it: on every endpoint."""

from loci.mcp.module import Module
from loci.mcp.tool import LociTool
from loci.mcp.tool_catalog import tool_family
from loci.scratchpad.api import Scratchpad


def scratchpad_module(scratchpad: Scratchpad) -> Module:
    """The tools that read what was too large for an answer. Each entry needs the scopes of what it is a result of."""

    def tools() -> list[LociTool]:
        from loci.scratchpad.tools import scratchpad_tools

        return scratchpad_tools(scratchpad)

    return Module(name="scratchpad", tools=[tool_family(tools, "scratchpad_read", "scratchpad_list")])
