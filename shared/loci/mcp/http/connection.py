"""A connection on a socket: uvicorn's, but stricter about where a body ends, and quieter about mistakes and its end."""

import asyncio
import socket
from typing import Any, Final, cast

import h11
import uvicorn
from mcp_types import INTERNAL_ERROR
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from loci.mcp.http.peer import STATE, peer_at
from loci.mcp.http.refusal import Refusal

UNREAD_SECONDS: Final = 120
"""A connection ends if its reader has taken nothing for so long of what was sent. Only Linux can say so to a socket."""
IDLE_SECONDS: Final = 75
"""The time that a connection stays open without a request. Clients and proxies keep theirs for up to a minute, and
lose a request if the server closes first: uvicorn's 5 s did that to Node's."""
GRACE_SECONDS: Final = 3
"""The time that requests have to be answered when the server ends."""
ENDING: Final = "Loci was stopped before it could answer. What it was asked to do may be done: look, and ask again"
BOTH_LENGTHS = "Content-Length and Transfer-Encoding: send only one of them."


def uvicorn_config(application: ASGIApp, log_level: str = "warning") -> uvicorn.Config:
    """The settings with which uvicorn serves Loci."""
    return uvicorn.Config(
        _answering_to_the_end(application),
        http=HttpConnection,
        log_level=log_level,
        # An access log would hold query strings, and those may hold keys.
        access_log=False,
        server_header=False,
        # A proxy on this machine passes on what its callers wrote: they could name any address.
        proxy_headers=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _answering_to_the_end(application: ASGIApp) -> ASGIApp:
    """The application, which refuses the requests that the end of the server cuts off."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def sending(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await application(scope, receive, sending)
        except asyncio.CancelledError:
            if scope["type"] != "http":
                raise
            if not has_begun:
                refusal = Refusal(503, ENDING, code=INTERNAL_ERROR, headers={"Retry-After": "10"})
                await refusal.send(send, [(b"connection", b"close")])

    return answer


class HttpConnection(H11Protocol):
    """Answers bytes that are no HTTP with 400 if it still can, closes, and writes one line to the log."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = self._strict = _OneLength(h11.SERVER)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        own: socket.socket = transport.get_extra_info("socket")
        # Before anything is read: of a socket that its user has closed, the kernel has forgotten whose it was.
        self.app_state = {**self.app_state, STATE: peer_at(own)}
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_SECONDS * 1000)

    def send_400_response(self, msg: str) -> None:
        cycle = cast("RequestResponseCycle | None", self.cycle)  # uvicorn's types hide that there may be none yet
        if cycle is not None:  # the application must not answer after this
            cycle.disconnected = True
            cycle.message_event.set()
        try:
            super().send_400_response(self._strict.fault or msg)
        except h11.LocalProtocolError:  # an answer was already sent, in part or in whole
            self.transport.close()


class _OneLength(h11.Connection):
    """Refuses a request with two lengths: a proxy in front may believe the other one, and what follows is smuggled."""

    fault: str | None = None

    def next_event(self) -> "h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]":
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if {b"content-length", b"transfer-encoding"} <= names:
                self.fault = BOTH_LENGTHS
                raise h11.RemoteProtocolError(BOTH_LENGTHS)
        return event
