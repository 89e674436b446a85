"""One endpoint in the forms that its answers may take."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from starlette.types import Message, Receive, Scope, Send

from loci.mcp.http.body import Body

Serve = Callable[[Scope, Receive, Send], Awaitable[None]]
Form = Literal["stream", "json"]


@dataclass(frozen=True, slots=True)
class Transport:
    """The SDK's server twice: answering with a stream of events, and with JSON."""

    stream: Serve
    json: Serve
    is_quick: Callable[[str], bool]
    """Whether calls of the tool with that name are soon done and have nothing to tell before."""

    async def serve(
        self, form: Form, body: Body, scope: Scope, receive: Receive, send: Send, *, as_event: bool
    ) -> None:
        """Answer in that form. A stream of one event costs a third of one that could have more."""
        if form == "stream" and self._may_notify(body.message):
            await self.stream(scope, _replay(body, receive), send)
        elif form == "stream" and as_event:
            await self.json(scope, _replay(body, receive), _one_event(send))
        else:
            await self.json(scope, _replay(body, receive), send)

    async def answer(self, body: Body, scope: Scope, receive: Receive) -> str | None:
        """The JSON text that answers the message; None where it needs no answer."""
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
    """The body again, then what else the client does."""
    left: list[Message] = [{"type": "http.request", "body": body.raw, "more_body": False}]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again


def _one_event(send: Send) -> Send:
    """Sends a JSON answer as the one event of a stream; anything but an answer goes out as it is."""
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
