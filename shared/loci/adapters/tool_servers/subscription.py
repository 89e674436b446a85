"""Changed tools of servers that tell only who subscribes: those of the revision 2026-07-28."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from mcp.client.client import Client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

READY_SECONDS = 2.0


@asynccontextmanager
async def subscribed(client: Client, changed: Callable[[], None]) -> AsyncGenerator[None]:
    """Subscribe in the block, if the server has this. Earlier ones tell without being asked."""
    tools = client.server_capabilities.tools
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
        yield
        return
    ready = asyncio.Event()
    subscription = asyncio.create_task(_subscribe(client, changed, ready))
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(READY_SECONDS):
                await ready.wait()  # a change before that would be missed
        yield
    finally:
        subscription.cancel()
        await asyncio.wait([subscription])


async def _subscribe(client: Client, changed: Callable[[], None], ready: asyncio.Event) -> None:
    try:
        async with client.listen(tools_list_changed=True) as subscription:
            ready.set()
            async for _ in subscription:
                changed()
    except (MCPError, SubscriptionLost, TimeoutError):
        return  # it goes on without
    finally:
        ready.set()
