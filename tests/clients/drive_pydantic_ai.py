"""The toolset of pydantic-ai, as a run of an agent calls it."""

from contextlib import asynccontextmanager, suppress
from typing import Any

from pydantic_ai import ModelRetry, RunContext, RunUsage
from pydantic_ai.exceptions import UserError
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.test import TestModel
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer as Transformer
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

        schemas = {name: tool.tool_def.parameters_json_schema for name, tool in tools.items()}
        strict = dict[str, Any]()
        for name, schema in schemas.items():
            with suppress(UserError):  # it has no strict form
                strict[name] = Transformer(schema, strict=True).walk()
        yield Converted(schemas, call, strict)


tell(drive)
