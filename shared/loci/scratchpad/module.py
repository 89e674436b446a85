"""The scratchpad, as the server offers it: on every endpoint."""

from loci.core.scopes import READS
from loci.mcp.module import Module
from loci.mcp.tool import LociTool
from loci.mcp.tool_catalog import tool_family
from loci.scratchpad.api import Scratchpad


def scratchpad_module(scratchpad: Scratchpad) -> Module:
    """The tools that read what was too large for an answer."""

    def tools() -> list[LociTool]:
        from loci.scratchpad.tools import scratchpad_tools

        return scratchpad_tools(scratchpad)

    return Module(name="scratchpad", tools=[tool_family(tools, "scratchpad_read", "scratchpad_list", needs=READS)])
