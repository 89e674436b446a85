"""One endpoint, answering with a stream of events or with JSON."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from starlette.types import Message, Receive, Scope, Send

from loci.mcp.http.body import Body

Serve = Callable[[Scope, Receive, Send], Awaitable[None]]
Form = Literal["stream", "json"]


@dataclass(frozen=True, slots=True)
class Transport:
    """The SDK's server, once for each form of the answer."""

    stream: Serve
    json: Serve
    is_quick: Callable[[str], bool]
    """True if calls of that tool end soon and report nothing before."""

    async def serve(
        self, form: Form, body: Body, scope: Scope, receive: Receive, send: Send, *, as_event: bool
    ) -> None:
        """Answer in that form. A stream of one event costs a third of a stream that can have more."""
        if form == "stream" and self._may_notify(body.message):
            await self.stream(scope, _replay(body, receive), send)
        elif form == "stream" and as_event:
            await self.json(scope, _replay(body, receive), _one_event(send))
        else:
            await self.json(scope, _replay(body, receive), send)

    async def answer(self, body: Body, scope: Scope, receive: Receive) -> str | None:
        """The JSON text that answers the message; None if it needs no answer."""
        parts: list[bytes] = []

        async def keep(message: Message) -> None:
            parts.append(message.get("body", b""))

        await self.json(scope, _replay(body, receive), keep)
        return b"".join(parts).decode() or None

    def _may_notify(self, message: Mapping[str, Any]) -> bool:
        params: Mapping[str, Any] = message.get("params") or {}
        meta: object = params.get("_meta")
        if isinstance(meta, dict) and "progressToken" in meta:
            return True
        return message.get("method") == "tools/call" and not self.is_quick(str(params.get("name")))


def _replay(body: Body, receive: Receive) -> Receive:
    """Give the body again, then whatever else the client sends."""
    left: list[Message] = [{"type": "http.request", "body": body.raw, "more_body": False}]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again


def _one_event(send: Send) -> Send:
    """Send a JSON answer as the only event of a stream. Anything else goes out unchanged."""
    framed = False

    async def sending(message: Message) -> None:
        nonlocal framed
        if message["type"] == "http.response.start" and message["status"] == 200:
            framed = True
            dropped = (b"content-type", b"content-length")
            headers = [(name, value) for name, value in message["headers"] if name not in dropped]
            headers += [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]
            message = {**message, "headers": headers}
        elif framed:
            message = {**message, "body": b"event: message\r\ndata: " + message["body"] + b"\r\n\r\n"}
        await send(message)

    return sending
