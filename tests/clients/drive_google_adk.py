"""The toolset of Google's Agent Development Kit, as a run of an agent calls it."""

from contextlib import asynccontextmanager
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.sessions import InMemorySessionService
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from google.adk.tools.tool_context import ToolContext
from telling import Converted, Driving, tell


@asynccontextmanager
async def drive(url: str) -> Driving:
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="app", user_id="me")
    invocation = InvocationContext(
        session_service=sessions, invocation_id="1", agent=LlmAgent(name="agent"), session=session
    )
    toolset = McpToolset(connection_params=StreamableHTTPConnectionParams(url=url))
    try:
        tools = {tool.name: tool for tool in await toolset.get_tools()}
        declared = {name: tool._get_declaration().parameters_json_schema for name, tool in tools.items()}

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return await tools[name].run_async(
                args=arguments, tool_context=ToolContext(invocation, function_call_id="1")
            )

        yield Converted(declared, call)
    finally:
        await toolset.close()


tell(drive)
