"""`search` and `fetch`, as the server offers them: at /mcp/search."""

from typing import TYPE_CHECKING, Final

from loci.mcp.module import Module
from loci.mcp.tool import LociTool
from loci.mcp.tool_catalog import tool_family

if TYPE_CHECKING:
    from loci.lookup.tools import LookupHost

DOCUMENTS: Final = "documents:read"
FILES: Final = "files:read"
"""The scopes that a client needs for each of the two parts."""


def lookup_module(app: "LookupHost") -> Module:
    """The two tools that ChatGPT's connectors and deep research ask for."""

    def tools() -> list[LociTool]:
        from loci.lookup.tools import lookup_tools

        return lookup_tools(app)

    family = tool_family(tools, "search", "fetch", surfaces=("search",), everywhere=False, one_of=(DOCUMENTS, FILES))
    return Module(name="lookup", surfaces=frozenset({"search"}), tools=[family])
