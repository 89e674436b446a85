"""The toolset of pydantic-ai, as a run of an agent calls it."""

from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import ModelRetry, RunContext, RunUsage
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.test import TestModel
from telling import Converted, Driving, tell


@asynccontextmanager
async def drive(url: str) -> Driving:
    async with MCPToolset[None](url) as toolset:
        context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
        tools = await toolset.get_tools(context)

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            try:
                return await toolset.call_tool(name, arguments, context, tools[name])
            except ModelRetry as error:
                return error.message

        yield Converted(list(tools), call)


tell(drive)
