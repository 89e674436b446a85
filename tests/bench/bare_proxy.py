"""The least that the SDK needs to pass calls on: `python -m tests.bench.bare_proxy URL`, or a program and arguments.

It has one client, and no names, policy, checks, log, redaction or budget.
"""

import asyncio
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

Context = ServerRequestContext[Any, Any]


async def main(command: str, *args: str) -> None:
    reach = command if command.startswith("http") else StdioServerParameters(command=command, args=[*args])
    async with Client(reach) as client:

        async def call(_: Context, asked: CallToolRequestParams) -> CallToolResult:
            return await client.call_tool(asked.name, asked.arguments)

        async def tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
            return ListToolsResult(tools=(await client.list_tools()).tools)

        server = Server[Any]("proxy", on_call_tool=call, on_list_tools=tools)
        async with stdio_server() as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
