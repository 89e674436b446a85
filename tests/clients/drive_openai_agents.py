"""The Agents SDK of OpenAI. With `strict` it converts the schemas that it can, and sends what strict mode sends."""

import json
import sys
from contextlib import asynccontextmanager
from typing import Any

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStreamableHttp, MCPUtil
from agents.tool_context import ToolContext
from telling import Converted, Driving, tell

STRICT = "strict" in sys.argv[2:]


def everything(schema: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with a value for each other property: in strict mode all are required."""
    return {name: arguments.get(name, nothing(inner)) for name, inner in schema["properties"].items()}


def nothing(schema: dict[str, Any]) -> Any:
    """The value that says least, of those that the model is allowed."""
    values = {
        "string": "0" * 64 if "pattern" in schema else "",
        "integer": schema.get("minimum", 0),
        "boolean": False,
        "array": [],
    }
    return schema["default"] if "default" in schema else values[schema["type"]]


@asynccontextmanager
async def drive(url: str) -> Driving:
    async with MCPServerStreamableHttp({"url": url}) as server:
        listed = await MCPUtil.get_function_tools(server, STRICT, RunContextWrapper(None), Agent("agent"))
        tools = {tool.name: tool for tool in listed}

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            tool = tools[name]
            if tool.strict_json_schema:
                arguments = everything(tool.params_json_schema, arguments)
            given = json.dumps(arguments)
            context = ToolContext(None, tool_name=name, tool_call_id="1", tool_arguments=given)
            return await tool.on_invoke_tool(context, given)

        schemas = {name: tool.params_json_schema for name, tool in tools.items()}
        yield Converted(schemas, call, {name: schemas[name] for name in tools if tools[name].strict_json_schema})


tell(drive)
