"""Version 1 of the official Python SDK, which holds each result against the output schema of its tool."""

from contextlib import asynccontextmanager
from typing import Any

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from telling import Converted, Driving, tell


@asynccontextmanager
async def drive(url: str) -> Driving:
    async with streamable_http_client(url) as (read, write, _), ClientSession(read, write) as session:
        assert (await session.initialize()).protocolVersion == "2025-11-25"

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return (await session.call_tool(name, arguments)).content[0].text

        yield Converted({tool.name: tool.inputSchema for tool in (await session.list_tools()).tools}, call)


tell(drive)
