"""Answers that stay open, and tell a client of changed lists, for as long as it may hear that."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from functools import partial
from typing import Final

import anyio
from starlette.types import Message, Receive, Send

from loci.core.events import ListName
from loci.mcp.server import changed_notification

EVENTS: Final = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]
BEAT_SECONDS: Final = 15.0
"""Seconds between two signs of life, and between two checks of the caller."""
ListChanges = AsyncGenerator[Collection[ListName]]


async def tell_changes(changes: ListChanges, send: Send) -> None:
    """Send the stream of a session. It ends when the changes do."""
    await send({"type": "http.response.start", "status": 200, "headers": EVENTS})
    beat = time.monotonic()
    async for lists in changes:
        # TypeScript's clients drop a notification whose params are null.
        told = [changed_notification(one).model_dump_json(exclude_none=True) for one in lists]
        said = [f"event: message\r\ndata: {one}\r\n\r\n" for one in told]
        if said or time.monotonic() >= beat:
            text = "".join(said) or ": still here\r\n\r\n"
            await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
            beat = time.monotonic() + BEAT_SECONDS


async def while_allowed(
    is_allowed: Callable[[], Awaitable[bool]], answer: Callable[[Send], Awaitable[None]], send: Send
) -> None:
    """Answer while the caller is allowed. The stream ends as a whole one, whatever ends it."""
    is_over = False

    async def sending(message: Message) -> None:
        nonlocal is_over
        is_over = message["type"] == "http.response.body" and not message.get("more_body", False)
        await send(message)

    async def refused() -> None:
        await anyio.sleep(BEAT_SECONDS)
        while await is_allowed():
            await anyio.sleep(BEAT_SECONDS)

    await do_until(refused, partial(answer, sending))
    if not is_over:
        await send({"type": "http.response.body", "body": b""})


async def closed(receive: Receive) -> None:
    """Wait until the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def do_until(end: Callable[[], Awaitable[None]], work: Callable[[], Awaitable[None]]) -> None:
    """Do the work. It is cancelled if the end comes before."""
    async with anyio.create_task_group() as tasks:

        async def wait() -> None:
            await end()
            tasks.cancel_scope.cancel()

        tasks.start_soon(wait)
        await work()
        tasks.cancel_scope.cancel()
