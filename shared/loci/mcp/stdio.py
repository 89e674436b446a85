"""Loci over standard input and output."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import anyio
from anyio.abc import ObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import ValidationError

from loci.core.errors import Unavailable
from loci.core.identity import STDIO_CALLER
from loci.mcp.sdk import ReadStream, WriteStream
from loci.mcp.server import LociServer, changed_notification

GRACE = 5
"""Seconds that calls have to finish after the client closed our input."""
OPENING = ("initialize", "server/discover")
"""The requests with which a client begins."""


async def serve_stdio(server: LociServer, answered: Callable[[], object], unheard: Callable[[], object]) -> None:
    """Serve one client until it closes our input. Answer everything that it asked until then.

    Calls `answered` at each answer to a request with which a client does not begin, and `unheard` if it has closed our
    output: its input may stay open, and a thread waits there.
    """
    async with stdio_server() as (lines, wire):
        try:
            await _serve(server, lines, _Answers(wire, answered))
        except anyio.get_cancelled_exc_class():
            unheard()
            raise


async def _serve(server: LociServer, lines: ReadStream[SessionMessage | Exception], answers: "_Answers") -> None:
    async with answers, anyio.create_task_group() as tasks:
        feed, requests = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        tasks.start_soon(_pass_on, lines, feed, answers)
        if server.tells_changes:
            tasks.start_soon(_tell_changes, server, answers)
        await server.serve(requests, answers)
        tasks.cancel_scope.cancel()


async def _tell_changes(server: LociServer, answers: "_Answers") -> None:
    """Tell the client of changed lists, if it has a session: since 2026-07-28 it subscribes."""
    await answers.has_session.wait()
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, Unavailable):  # it has gone
        async for lists in server.list_changes(STDIO_CALLER):
            for notification in map(changed_notification, lists):
                await answers.send(SessionMessage(notification))


async def _pass_on(
    lines: ReadStream[SessionMessage | Exception],
    feed: ObjectSendStream[SessionMessage | Exception],
    answers: "_Answers",
) -> None:
    async with feed:
        async for item in lines:
            if isinstance(item, Exception):
                await answers.send(_fault(item))
            else:
                answers.expect(item)
                await feed.send(item)
        with anyio.move_on_after(GRACE):
            await answers.all_sent()


def _fault(error: Exception) -> SessionMessage:
    """Answer a line that holds no message: the SDK would say nothing."""
    is_json = isinstance(error, ValidationError) and error.errors()[0]["type"] != "json_invalid"
    if is_json:
        code, message = (
            INVALID_REQUEST,
            "Invalid request. Check its structure: a message has jsonrpc, id, method, params",
        )
    else:
        code, message = PARSE_ERROR, "Parse error. Check the format of the request: a message is one line of JSON"
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message)))


@dataclass
class _Answers:
    """The stream of answers. It knows which requests are still open."""

    wire: WriteStream[SessionMessage]
    answered: Callable[[], object]
    has_session: anyio.Event = field(default_factory=anyio.Event)
    """Set if the client has begun as clients of before 2026-07-28 do: it is told what it has not asked for."""
    _owed: dict[Any, str] = field(default_factory=dict[Any, str])
    """The methods of the open requests."""
    _changed: anyio.Event = field(default_factory=anyio.Event)

    def expect(self, item: SessionMessage) -> None:
        """Note a request, or that one was cancelled."""
        match item.message:
            case JSONRPCNotification(method="notifications/initialized"):
                self.has_session.set()
            case JSONRPCRequest(method="subscriptions/listen"):
                pass  # it stays open until the end
            case JSONRPCRequest(id=id, method=method):
                self._owed[id] = method
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": str(id) | int(id)}):
                self._settle(id)
            case _:
                pass

    async def all_sent(self) -> None:
        """Return once every request is answered."""
        while self._owed:
            await self._changed.wait()

    async def send(self, item: SessionMessage) -> None:
        """Write a message."""
        await self.wire.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._settle(item.message.id)

    async def aclose(self) -> None:
        """Close the stream."""
        await self.wire.aclose()

    async def __aenter__(self) -> "_Answers":
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()

    def _settle(self, id: Any) -> None:
        if self._owed.pop(id, OPENING[0]) not in OPENING:
            self.answered()
        self._changed.set()
        self._changed = anyio.Event()
