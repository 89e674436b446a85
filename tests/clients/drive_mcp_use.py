"""mcp-use, with its adapter for LangChain."""

from contextlib import asynccontextmanager
from typing import Any

from mcp_use import MCPClient
from mcp_use.agents.adapters import LangChainAdapter
from telling import Converted, Driving, tell


@asynccontextmanager
async def drive(url: str) -> Driving:
    client = MCPClient({"mcpServers": {"loci": {"url": url}}})
    try:
        tools = {tool.name: tool for tool in await LangChainAdapter().create_tools(client)}

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return await tools[name].ainvoke(arguments)

        yield Converted(list(tools), call)
    finally:
        await client.close_all_sessions()


tell(drive)
