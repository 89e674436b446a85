"""A connection to one tool server, from the handshake to its end."""

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeVar, cast

import anyio
from anyio.abc import ObjectReceiveStream
from mcp.client.client import Client
from mcp.client.context import ClientRequestContext
from mcp.client.extension import advertise
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    JSONRPCResponse,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from loci.adapters.tool_servers.child_process import stdio_transport
from loci.adapters.tool_servers.diagnostics import (
    PENDING_REQUEST,
    PendingRequest,
    ServerActivity,
    program_failed,
    quoted,
    server_failed,
    start_advice,
)
from loci.adapters.tool_servers.http_client import http_transport
from loci.adapters.tool_servers.listing import repaired
from loci.gateway.ports import ToolServerError
from loci.gateway.tool_server import LambdaFunction, Program, ToolServer
from loci.mcp.views import VIEW_TYPE

if TYPE_CHECKING:
    from contextvars import Context

    from mcp.client._transport import ReadStream, TransportStreams

    from loci.adapters.tool_servers.function_transport import Invoke

T = TypeVar("T")
OPEN_SECONDS = 60.0
"""The time to connect: npx may have to download the server first."""
SUBSCRIBED_SECONDS = 2.0
VIEWS_SHOWN = "io.modelcontextprotocol/ui", {"mimeTypes": [VIEW_TYPE]}
"""The extension by which a client says that it shows views. Some servers have none for others."""
CHANGES = (ToolListChangedNotification, PromptListChangedNotification, ResourceListChangedNotification)


class UpstreamConnection:
    """A connection that opens when it is made. It ends by the server, after a while without use, or by `close`."""

    def __init__(
        self,
        server: ToolServer,
        *,
        only_public: bool,
        idle_seconds: float,
        invoke: "Invoke | None",
        changed: Callable[[], None],
        broke: Callable[[ToolServerError], None],
        asked: Callable[[ElicitRequestParams], Awaitable[ElicitResult | ErrorData]],
    ) -> None:
        """`changed` is called when tools change, and `broke` when the connection fails or the server ends it.

        `asked` answers the questions of the server.
        """
        self._server = server
        self._only_public = only_public
        self._invoke = invoke
        self._idle_seconds = idle_seconds
        self._changed = changed
        self._broke = broke
        self._asked = asked
        self._activity = ServerActivity()
        self._users = 0
        self._used = time.monotonic()
        self._is_doubtful = False
        self._wanted_end = False
        self._end = asyncio.Event()
        self._opening = anyio.CancelScope(deadline=anyio.current_time() + OPEN_SECONDS)
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live())

    @property
    def is_usable(self) -> bool:
        return not (self._is_doubtful or self._end.is_set() or self.has_ended)

    @property
    def has_ended(self) -> bool:
        return self._life.done()

    @property
    def heard_at(self) -> float:
        return self._activity.at

    async def opened(self) -> Client:
        """Wait until it is open. Raises `ToolServerError` if that fails."""
        return await asyncio.shield(self._opened)

    async def ask(self, question: Callable[[Client], Awaitable[T]], pending: PendingRequest) -> T:
        """Ask the server. Raises `ToolServerError` if it gives no answer, `MCPError` if it answers with an error."""
        self._users += 1
        try:
            return await question(await self.opened())
        except MCPError:
            if pending.trouble is not None:
                raise pending.trouble from None
            if self._end.is_set():
                raise self._end_error() from None
            raise
        except ValidationError as error:
            said = quoted(_fault(error), self._server.redaction())
            raise server_failed(self._server, f"its answer breaks the protocol: {said}") from None
        finally:
            self._users -= 1
            self._used = time.monotonic()
            if self._is_doubtful and not self._users:
                self._end.set()

    def end(self) -> None:
        """Begin to end it."""
        self._wanted_end = True
        self._end.set()
        if not self._opened.done():
            self._opening.cancel()

    async def close(self) -> None:
        self.end()
        await asyncio.wait([self._life])

    async def _live(self) -> None:
        for name in ("mcp.client", "httpx2", "httpcore2"):  # they log what servers say, addresses and headers
            logging.getLogger(name).setLevel(logging.CRITICAL)
        pending = PendingRequest(OPEN_SECONDS)
        PENDING_REQUEST.set(pending)
        said, late, trouble = "", "", None
        try:
            with self._opening:
                async with Client(
                    self._transport(),
                    message_handler=self._listen,
                    elicitation_callback=self._answer,
                    extensions=[advertise(*VIEWS_SHOWN)] if self._server.shows_views else None,
                ) as client:
                    PENDING_REQUEST.set(None)
                    async with subscribed(client, self._changed):
                        self._opening.deadline = math.inf
                        self._used = time.monotonic()  # who waited for it has yet to ask
                        self._opened.set_result(client)
                        await self._until_end()
            if self._opening.cancelled_caught:
                late = f"it was not ready after {OPEN_SECONDS:.0f} s"
        except (MCPError, OSError, ValueError, RuntimeError, ExceptionGroup) as error:
            said, trouble = quoted(_reason(error), self._server.redaction()), pending.trouble
        finally:
            self._end.set()
            error = trouble or self._end_error(said, late)
            if not self._opened.done():
                self._opened.set_exception(error)
                self._opened.exception()  # perhaps nobody waits for it
            if not self._wanted_end:
                self._broke(error)

    async def _until_end(self) -> None:
        while not self._end.is_set():
            left = self._used + self._idle_seconds - time.monotonic()
            if left <= 0 and not self._users:
                self._wanted_end = True
                self._end.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(left if left > 0 else self._idle_seconds):
                    await self._end.wait()

    @asynccontextmanager
    async def _transport(self) -> AsyncGenerator["TransportStreams"]:
        reach = self._server.reach
        if isinstance(reach, Program):
            async with stdio_transport(reach, self._activity) as (output, input):
                yield Incoming(output, self._activity, self._end.set), input
        elif isinstance(reach, LambdaFunction):
            from loci.adapters.tool_servers.function_transport import function_transport

            async with function_transport(reach, self._invoke) as (output, input):
                yield Incoming(output, self._activity, self._end.set), input
        elif reach.is_api:
            from loci.adapters.tool_servers.api_server import ApiServer  # few have one

            async with ApiServer(self._server, reach, only_public=self._only_public).transport() as (output, input):
                yield Incoming(output, self._activity, self._end.set), input
        else:
            async with http_transport(self._server, reach, self._doubt, only_public=self._only_public) as (
                incoming,
                outgoing,
            ):
                yield Incoming(incoming, self._activity, self._end.set), outgoing

    async def _answer(
        self,
        context: ClientRequestContext,  # noqa: ARG002 (the official client's name)
        params: ElicitRequestParams,
    ) -> ElicitResult | ErrorData:
        return await self._asked(params)

    async def _listen(self, message: object) -> None:
        if isinstance(message, CHANGES):
            self._changed()

    def _doubt(self) -> None:
        """Note that the server may have forgotten the session: open requests get answers, later ones connect anew."""
        self._is_doubtful = True
        self._wanted_end = True

    def _end_error(self, said: str = "", late: str = "") -> ToolServerError:
        if self._wanted_end:
            return server_failed(self._server, "the connection was closed")
        reach, child = self._server.reach, self._activity.child
        why = self._activity.end(self._server.redaction(), late) or said
        if isinstance(reach, Program):
            if self._activity.not_started is not None:
                return program_failed(self._server, reach, self._activity.not_started)
            if child is not None and child.exit_code() is not None and not late:
                return program_failed(self._server, reach, why)
        resolution = start_advice(self._server, OPEN_SECONDS) if late else None
        return server_failed(self._server, why or "it ended the connection", resolution)


class Incoming(ObjectReceiveStream["SessionMessage | Exception"]):
    """A stream of the official client that ends if the server floods it, and reports its end."""

    def __init__(
        self, stream: "ReadStream[SessionMessage | Exception]", activity: ServerActivity, ended: Callable[[], None]
    ) -> None:
        self._stream = stream
        self._activity = activity
        self._ended = ended

    @property
    def last_context(self) -> "Context | None":
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> "SessionMessage | Exception":
        try:
            message = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._ended()
            raise
        if not self._activity.message():
            self._ended()
            raise anyio.EndOfStream
        if isinstance(message, SessionMessage) and isinstance(message.message, JSONRPCResponse):
            message.message.result = repaired(message.message.result)
        return message

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def subscribed(client: Client, changed: Callable[[], None]) -> AsyncGenerator[None]:
    """Subscribe to changed lists in the block, at servers that tell only who subscribes: since 2026-07-28."""
    has = client.server_capabilities
    tools, prompts, resources = (
        one is not None and one.list_changed is True for one in (has.tools, has.prompts, has.resources)
    )
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (tools or prompts or resources):
        yield
        return
    ready = asyncio.Event()

    async def listen() -> None:
        with suppress(MCPError, SubscriptionLost, TimeoutError):  # it goes on without
            async with client.listen(
                tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
            ) as subscription:
                ready.set()
                async for _ in subscription:
                    changed()
        ready.set()

    listening = asyncio.create_task(listen())
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(SUBSCRIBED_SECONDS):
                await ready.wait()  # a change before that would be missed
        yield
    finally:
        listening.cancel()
        await asyncio.wait([listening])


def _fault(error: ValidationError) -> str:
    """The first fault: where it is, and what is wrong."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _reason(error: Exception) -> str:
    """The text of the error, or of the first in a group."""
    if isinstance(error, ExceptionGroup):
        return _reason(cast("ExceptionGroup[Exception]", error).exceptions[0])
    return error.error.message if isinstance(error, MCPError) else str(error) or type(error).__name__
