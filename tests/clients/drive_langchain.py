"""langchain-mcp-adapters: tools of LangChain in one session, called as a graph calls them."""

from contextlib import asynccontextmanager
from typing import Any

from langchain_core.utils.function_calling import convert_to_openai_function as converted
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from telling import Converted, Driving, tell


@asynccontextmanager
async def drive(url: str) -> Driving:
    client = MultiServerMCPClient({"loci": {"transport": "streamable_http", "url": url}})
    async with client.session("loci") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            message = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
            return message.text

        yield Converted(
            {name: converted(tool)["parameters"] for name, tool in tools.items()},
            call,
            {name: converted(tool, strict=True)["parameters"] for name, tool in tools.items()},
        )


tell(drive)
