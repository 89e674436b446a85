"""The first version of the official Python SDK, which speaks the oldest revision of the protocol, over stdio."""

import json
import sys
from contextlib import asynccontextmanager
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from telling import Converted, Driving, tell


@asynccontextmanager
async def drive(url: str) -> Driving:
    command, *arguments = json.loads(sys.argv[1])["command"]
    started = StdioServerParameters(command=command, args=arguments)
    async with stdio_client(started) as (read, write), ClientSession(read, write) as session:
        assert (await session.initialize()).protocolVersion == "2024-11-05"

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return (await session.call_tool(name, arguments)).content[0].text

        yield Converted({tool.name: tool.inputSchema for tool in (await session.list_tools()).tools}, call)


tell(drive)
