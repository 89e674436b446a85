"""A client of the official SDK that notes which lists it is told have changed, in either era of the protocol."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import (
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ToolListChangedNotification,
)

from tests.support.polling import until_told
from tests.surface.conftest import Mode

NAMES: dict[object, str] = {
    ToolListChangedNotification: "tools",
    PromptListChangedNotification: "prompts",
    ResourceListChangedNotification: "resources",
    "ToolsListChanged": "tools",
    "PromptsListChanged": "prompts",
    "ResourcesListChanged": "resources",
}


@dataclass
class ToldClient:
    client: Client
    told: list[str] = field(default_factory=list[str])

    async def hears(self, name: str, act: Callable[[], object] | None = None) -> None:
        """Wait until it is told, from now on. `act` is done on a thread, again if nothing is heard for long.

        A client of an older revision opens its stream when it likes.
        """
        before = len(self.told)

        async def heard() -> bool:
            return name in self.told[before:]

        for _ in range(3):
            if act is not None:
                await anyio.to_thread.run_sync(act)
            try:
                await until_told(heard, 30 if act is None else 15)
                return
            except AssertionError:
                if act is None:
                    raise
        raise AssertionError(f"{name} not heard: {self.told}")


@asynccontextmanager
async def told_client(
    target: str | StdioServerParameters, mode: Mode, headers: dict[str, str] | None = None
) -> AsyncGenerator[ToldClient]:
    """Connected, and listening: by a subscription since 2026-07-28."""
    told = list[str]()

    async def heard(message: object) -> None:
        if name := NAMES.get(type(message)):
            told.append(name)

    async with AsyncExitStack() as stack:
        if headers and isinstance(target, str):
            http = await stack.enter_async_context(create_mcp_http_client(headers))
            reached: Any = streamable_http_client(target, http_client=http)
        else:
            reached = target
        handler = heard if mode == "legacy" else None
        client = await stack.enter_async_context(
            Client(reached, mode=mode, message_handler=handler, read_timeout_seconds=60)
        )
        if mode != "legacy":
            tasks = await stack.enter_async_context(anyio.create_task_group())
            listening = client.listen(tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True)
            subscription = await stack.enter_async_context(listening)

            async def follow() -> None:
                async for change in subscription:
                    told.append(NAMES[type(change).__name__])

            tasks.start_soon(follow)
            stack.callback(tasks.cancel_scope.cancel)
        yield ToldClient(client, told)
