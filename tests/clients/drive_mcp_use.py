"""mcp-use, with its adapter for LangChain."""

from contextlib import asynccontextmanager
from typing import Any

from langchain_core.utils.function_calling import convert_to_openai_function as converted
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

        yield Converted(
            {name: converted(tool)["parameters"] for name, tool in tools.items()},
            call,
            {name: converted(tool, strict=True)["parameters"] for name, tool in tools.items()},
        )
    finally:
        await client.close_all_sessions()


tell(drive)
