"""The MCP client of Strands Agents."""

from contextlib import asynccontextmanager
from typing import Any

from mcp.client.streamable_http import streamable_http_client
from strands.tools.mcp import MCPClient
from telling import Converted, Driving, tell


@asynccontextmanager
async def drive(url: str) -> Driving:
    with MCPClient(lambda: streamable_http_client(url)) as client:
        tools = {tool.tool_name: tool.tool_spec for tool in client.list_tools_sync()}

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return (await client.call_tool_async("1", name, arguments))["content"]

        yield Converted({name: spec["inputSchema"]["json"] for name, spec in tools.items()}, call)


tell(drive)
