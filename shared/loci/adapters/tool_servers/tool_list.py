"""The tools of a server, page by page."""

from collections.abc import Awaitable, Callable

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, ListToolsResult, PaginatedRequestParams, Tool

from loci.adapters.tool_servers.limits import LARGEST_LIST, MOST_TOOLS
from loci.core.json import JsonObject
from loci.tools.tool_server import UpstreamTool

LONGEST_NAME = 128
"""Of a tool, in characters: the most that the protocol advises."""


async def all_tools(
    ask: Callable[[Callable[[Client], Awaitable[ListToolsResult]]], Awaitable[ListToolsResult]],
) -> list[Tool]:
    """Ask for all pages. A list without an end ends at the first repeated cursor, or when it gets too long.

    Tools for which there is no room are left out, with all that come after them; so is one whose name nobody can call
    it by, or has before it.
    """
    found: dict[str, Tool] = {}
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
            text = one.model_dump_json(by_alias=True)
            room -= len(text)
            if room < 0 or len(found) >= MOST_TOOLS:
                return list(found.values())
            if _is_name(one.name) and one.name not in found:
                found[one.name] = Tool.model_validate_json(text)  # without numbers that JSON does not have
        cursor = page.next_cursor
        if cursor is None or cursor in cursors or max(len(found), len(cursors)) >= MOST_TOOLS:
            return list(found.values())
        cursors.add(cursor)


def _is_name(name: str) -> bool:
    """True if it is one plain word or line, as the names that people read and models repeat."""
    return 0 < len(name) <= LONGEST_NAME and name.isprintable()


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
