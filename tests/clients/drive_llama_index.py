"""The tools of LlamaIndex, whose models of the arguments are made of the input schemas."""

from contextlib import asynccontextmanager
from typing import Any

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from telling import Converted, Driving, tell


@asynccontextmanager
async def drive(url: str) -> Driving:
    listed = await McpToolSpec(BasicMCPClient(url)).to_tool_list_async()
    tools = {tool.metadata.get_name(): tool for tool in listed}

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        return (await tools[name].acall(**arguments)).content

    yield Converted(
        {name: tool.metadata.to_openai_tool()["function"]["parameters"] for name, tool in tools.items()}, call
    )


tell(drive)
