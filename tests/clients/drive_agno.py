"""The toolkit of Agno, called as a run of an agent calls it."""

from contextlib import asynccontextmanager
from typing import Any

from agno.tools.function import FunctionCall
from agno.tools.mcp import MCPTools
from telling import Converted, Driving, tell


@asynccontextmanager
async def drive(url: str) -> Driving:
    async with MCPTools(transport="streamable-http", url=url) as toolkit:
        tools = toolkit.functions

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            done = await FunctionCall(function=tools[name], arguments=arguments).aexecute()
            return done.error or done.result.content

        yield Converted({name: tool.to_dict()["parameters"] for name, tool in tools.items()}, call)


tell(drive)
