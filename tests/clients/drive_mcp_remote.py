"""A client over stdio behind mcp-remote, which hands each message on to the server over HTTP."""

from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from telling import Converted, Driving, tell

PROXY = Path(__file__).parent / "node_modules" / "mcp-remote" / "dist" / "proxy.js"


@asynccontextmanager
async def drive(url: str) -> Driving:
    async with Client(StdioServerParameters(command="node", args=[str(PROXY), url])) as client:

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return (await client.call_tool(name, arguments)).content[0].text

        yield Converted({tool.name: tool.input_schema for tool in (await client.list_tools()).tools}, call)


tell(drive)
