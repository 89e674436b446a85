"""Loci over standard input and output."""

import os
import select
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from loci.core.errors import Unavailable
from loci.core.identity import STDIO_CALLER
from loci.mcp.server import LociServer, changed_notification

GRACE = 5
"""Seconds that calls have to finish after the client closed our input."""
OPENING = ("initialize", "server/discover")
"""The requests with which a client begins."""
CHUNK = 1 << 16


async def serve_stdio(server: LociServer, answered: Callable[[], object]) -> None:
    """Serve one client until it closes our input or our output. Answer everything that it asked until then.

    Calls `answered` at each answer to a request with which a client does not begin.

    The SDK's transport would take three threads' turns for each call: one to read it, and two to write its answer.
    """
    # Whatever else in this process prints or reads, and what it starts, misses the client.
    lines, wire, nothing = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    async with anyio.create_task_group() as tasks:
        answers = _Answers(wire, tasks.cancel_scope.cancel, answered)
        if server.tells_changes:
            tasks.start_soon(_tell_changes, server, answers)
        await server.serve(_Requests(lines, answers), answers)
        tasks.cancel_scope.cancel()


async def _tell_changes(server: LociServer, answers: "_Answers") -> None:
    """Tell the client of changed lists, if it has a session: since 2026-07-28 it subscribes."""
    await answers.has_session.wait()
    with suppress(anyio.BrokenResourceError, Unavailable):  # it has gone
        async for lists in server.list_changes(STDIO_CALLER):
            for notification in map(changed_notification, lists):
                await answers.send(SessionMessage(notification))


class _Requests(ObjectReceiveStream[SessionMessage]):
    """The messages of the client."""

    def __init__(self, lines: int, answers: "_Answers") -> None:
        self._lines = lines
        self._answers = answers
        self._unread = bytearray()

    async def receive(self) -> SessionMessage:
        """Wait for the next message. Lines that hold none are answered here: the SDK would say nothing."""
        while line := await self._line():
            try:
                item = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValidationError as error:
                with suppress(anyio.BrokenResourceError):
                    await self._answers.send(_fault(error))
            else:
                self._answers.expect(item)
                return item
        with anyio.move_on_after(GRACE):
            await self._answers.all_sent()
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        """Do nothing: the input is closed with the process."""

    async def _line(self) -> str:
        """The next line; empty at the end of the input."""
        searched = 0
        while (end := self._unread.find(b"\n", searched) + 1) == 0:
            searched = len(self._unread)
            with suppress(PermissionError):  # epoll watches no file, whose reader never waits
                await anyio.wait_readable(self._lines)
            chunk = os.read(self._lines, CHUNK)
            if not chunk:
                end = searched
                break
            self._unread += chunk
        line = self._unread[:end]
        del self._unread[:end]
        return line.decode("utf-8", "replace")


def _fault(error: ValidationError) -> SessionMessage:
    """The answer to a line that holds no message."""
    if error.errors()[0]["type"] != "json_invalid":
        code, message = (
            INVALID_REQUEST,
            "Invalid request. Check its structure: a message has jsonrpc, id, method, params",
        )
    else:
        code, message = PARSE_ERROR, "Parse error. Check the format of the request: a message is one line of JSON"
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message)))


@dataclass
class _Answers(ObjectSendStream[SessionMessage]):
    """The stream of answers. It knows which requests are still open."""

    wire: int
    unheard: Callable[[], object]
    """Called if the client has closed our output."""
    answered: Callable[[], object]
    has_session: anyio.Event = field(default_factory=anyio.Event)
    """Set if the client has begun as clients of before 2026-07-28 do: it is told what it has not asked for."""
    _owed: dict[Any, str] = field(default_factory=dict[Any, str])
    """The methods of the open requests."""
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _turn: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True))

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
        """Write a message. Raises `BrokenResourceError` if the client has closed our output."""
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            async with self._turn:
                await self._write(line)
        except OSError:
            self.unheard()
            raise anyio.BrokenResourceError from None
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._settle(item.message.id)

    async def aclose(self) -> None:
        """Do nothing: the output is closed with the process."""

    async def _write(self, line: bytes) -> None:
        # A pipe that is ready takes so much without waiting. A client that reads slowly makes only a thread wait.
        if len(line) <= select.PIPE_BUF and select.select((), (self.wire,), (), 0)[1]:
            line = line[os.write(self.wire, line) :]
        if line:
            await anyio.to_thread.run_sync(_write_all, self.wire, line)

    def _settle(self, id: Any) -> None:
        if self._owed.pop(id, OPENING[0]) not in OPENING:
            self.answered()
        self._changed.set()
        self._changed = anyio.Event()


def _write_all(wire: int, line: bytes) -> None:
    while line:
        line = line[os.write(wire, line) :]
