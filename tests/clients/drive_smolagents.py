"""The tools of smolagents, whose calls are not asynchronous."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

from smolagents import MCPClient
from smolagents.models import get_tool_json_schema
from telling import Converted, Driving, tell


@asynccontextmanager
async def drive(url: str) -> Driving:
    with MCPClient({"url": url, "transport": "streamable-http"}, structured_output=True) as listed:
        tools = {tool.name: tool for tool in listed}

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return await asyncio.to_thread(tools[name], **arguments)

        schemas = {name: get_tool_json_schema(tool)["function"]["parameters"] for name, tool in tools.items()}
        yield Converted(schemas, call, cancels=False)


tell(drive)
