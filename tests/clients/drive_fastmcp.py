"""The client of FastMCP, which fits results into types that it makes of the output schemas."""

from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client
from fastmcp.exceptions import ToolError
from telling import Converted, Driving, tell


@asynccontextmanager
async def drive(url: str) -> Driving:
    async with Client(url) as client:

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            try:
                return (await client.call_tool(name, arguments)).data
            except ToolError as error:
                return error

        yield Converted({tool.name: tool.input_schema for tool in await client.list_tools()}, call)


tell(drive)
