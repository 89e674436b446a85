"""Version 2 of the official Python SDK, which speaks the newest revision of the protocol."""

from contextlib import asynccontextmanager
from typing import Any

from mcp import Client
from telling import Converted, Driving, tell


@asynccontextmanager
async def drive(url: str) -> Driving:
    async with Client(url, mode="2026-07-28") as client:

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return (await client.call_tool(name, arguments)).content[0].text

        yield Converted({tool.name: tool.input_schema for tool in (await client.list_tools()).tools}, call)


tell(drive)
