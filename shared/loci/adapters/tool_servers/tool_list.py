"""The tools of a server, page by page."""

from collections.abc import Awaitable, Callable

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, ListToolsResult, PaginatedRequestParams, Tool

from loci.adapters.tool_servers.limits import LARGEST_LIST, MOST_TOOLS
from loci.core.json import JsonObject
from loci.tools.tool_server import UpstreamTool


async def all_tools(
    ask: Callable[[Callable[[Client], Awaitable[ListToolsResult]]], Awaitable[ListToolsResult]],
) -> list[Tool]:
    """Ask for all pages. A list without an end ends at the first repeated cursor, or when it gets too long.

    Tools for which there is no room are left out, with all that come after them.
    """
    found: list[Tool] = []
    room = LARGEST_LIST
    cursors: set[str] = set()
    cursor: str | None = None
    while True:
        params = None if cursor is None else PaginatedRequestParams(cursor=cursor)
        try:
            page = await ask(lambda client, params=params: client.session.list_tools(params=params))
        except MCPError as error:
            if error.error.code == METHOD_NOT_FOUND and not found:
                return []
            raise
        for one in page.tools:
            room -= len(one.model_dump_json(exclude_none=True))
            if room < 0:
                return found[:MOST_TOOLS]
            found.append(one)
        cursor = page.next_cursor
        if cursor is None or cursor in cursors or max(len(found), len(cursors)) >= MOST_TOOLS:
            return found[:MOST_TOOLS]
        cursors.add(cursor)


def upstream_tool(server: str, tool: Tool) -> UpstreamTool:
    """The tool as Loci knows it."""
    annotations: JsonObject = {}
    if tool.annotations is not None:
        annotations = tool.annotations.model_dump(mode="json", by_alias=True, exclude_none=True)
    return UpstreamTool(
        server=server,
        name=tool.name,
        title=tool.title,
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=annotations,
    )
