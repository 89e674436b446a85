"""One endpoint, answering a message with a stream of events or with JSON, and a batch with JSON."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import anyio
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp_types import INTERNAL_ERROR
from starlette.types import Message, Receive, Scope, Send

from loci.mcp.http.body import Body, replayed
from loci.mcp.http.refusal import JSON_TYPE, Refusal, respond

SESSION_KEY = "loci.session"
"""The key in the ASGI scope under which the gatekeeper leaves the id of the session, if the request has one."""
EVENTS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]
LARGEST_ANSWER = 2_500_000
"""Characters of all answers of a batch; a Lambda answer ends at 6 MB and holds them as JSON inside of JSON."""
Serve = Callable[[Scope, Receive, Send], Awaitable[None]]
Form = Literal["stream", "json"]


class RequestsUnderWay:
    """The requests of sessions that this process answers now: a later message of the session may cancel one.

    Ids of requests are easy to guess, and many clients count from the same number. So a request is known by its
    session, too, whose id nobody can guess and only its owner may use. A request without a session cannot be cancelled
    by a message. Only the thread of the event loop uses this.
    """

    def __init__(self) -> None:
        self._names: dict[anyio.CancelScope, tuple[str, str | int]] = {}

    @contextmanager
    def cancellable(self, session: str | None, message: Mapping[str, Any]) -> Generator[anyio.CancelScope]:
        """A scope to answer the message in. It ends early if the session cancels the request."""
        with anyio.CancelScope() as scope:
            if session is not None and "method" in message and "id" in message:
                self._names[scope] = session, message["id"]
            try:
                yield scope
            finally:
                self._names.pop(scope, None)

    def hear(self, session: str | None, message: Mapping[str, Any]) -> None:
        """Cancel the request that the message names, if it is a message that cancels one of its session."""
        match message:
            case {"method": "notifications/cancelled", "params": {"requestId": str() | int() as id}}:
                for scope, name in self._names.items():
                    if name == (session, id):
                        scope.cancel()
            case _:
                pass


@dataclass(frozen=True, slots=True)
class Transport:
    """The SDK's server, once for each form of the answer."""

    stream: Serve
    json: Serve
    is_quick: Callable[[str], bool]
    """True if calls of that tool end soon and report nothing before."""
    under_way: RequestsUnderWay

    async def serve(
        self, form: Form, body: Body, scope: Scope, receive: Receive, send: Send, *, has_sessions: bool
    ) -> None:
        """Answer in that form. A stream of one event costs a third of a stream that can have more.

        In a revision with sessions a message cancels a request, and a lost connection does not; in the newest a
        client cancels by closing the connection.
        """
        takes_time = self._may_notify(body.message)
        is_streamed = form == "stream" and takes_time
        serve = self.stream if is_streamed else self.json
        if has_sessions:
            await self._serve_in_session(serve, form, body, scope, send, is_streamed=is_streamed)
        elif takes_time and not is_streamed:
            await _serve_until_closed(serve, body, scope, receive, send)
        else:
            await serve(scope, replayed(body.raw, receive), send)

    async def answer_batch(
        self, parts: Sequence[Body | Refusal], scope: Scope, send: Send, headers: list[tuple[bytes, bytes]]
    ) -> None:
        """Answer all messages in one array, in their order. Answer 202 if none of them needs an answer."""
        answers: list[str] = []
        for part in parts:
            if isinstance(part, Refusal):
                answers.append(part.text())
            elif sum(map(len, answers)) > LARGEST_ANSWER:
                answers.append(_too_much(part))
            elif (answer := await self._answer(part, scope)) is not None:
                answers.append(answer if len(answer) <= LARGEST_ANSWER else _too_much(part))
        if answers:
            await respond(send, 200, f"[{','.join(answers)}]".encode(), [JSON_TYPE, *headers])
        else:
            await respond(send, 202, b"", headers)

    async def _answer(self, body: Body, scope: Scope) -> str | None:
        """The JSON text that answers the message; None if it needs no answer, or was cancelled."""
        parts: list[bytes] = []

        async def keep(message: Message) -> None:
            parts.append(message.get("body", b""))

        session: str | None = scope.get(SESSION_KEY)
        self.under_way.hear(session, body.message)
        with self.under_way.cancellable(session, body.message) as answering:
            await self.json(scope, replayed(body.raw, _nothing_more), keep)
        return None if answering.cancelled_caught else b"".join(parts).decode() or None

    async def _serve_in_session(
        self, serve: Serve, form: Form, body: Body, scope: Scope, send: Send, *, is_streamed: bool
    ) -> None:
        has_begun = is_over = False
        session: str | None = scope.get(SESSION_KEY)
        send_answer = _one_event(send) if form == "stream" and not is_streamed else send

        async def sending(message: Message) -> None:
            nonlocal has_begun, is_over
            has_begun = True
            is_over = not message.get("more_body", is_streamed)  # JSON has its length in front: it goes out whole
            await send_answer(message)

        self.under_way.hear(session, body.message)
        with self.under_way.cancellable(session, body.message) as answering:
            await serve(scope, replayed(body.raw, _nothing_more), sending)
        if answering.cancelled_caught and not is_over:
            await _end_unanswered(form, body, send, has_begun=has_begun)

    def _may_notify(self, message: Mapping[str, Any]) -> bool:
        params: Mapping[str, Any] = message.get("params") or {}
        meta: object = params.get("_meta")
        if isinstance(meta, dict) and "progressToken" in meta:
            return True
        return message.get("method") == "tools/call" and not self.is_quick(str(params.get("name")))


def _too_much(part: Body) -> str:
    what = "The answers of this batch are too large together: ask for this one alone"
    return Refusal(200, what, code=INTERNAL_ERROR, id=part.message.get("id")).text()


async def _nothing_more() -> Message:
    """Wait for ever: for the SDK the client has neither gone nor sent more."""
    return await asyncio.Future[Message]()


async def _serve_until_closed(serve: Serve, body: Body, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer, unless the client closes the connection before."""
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        await serve(scope, replayed(body.raw, _nothing_more), send)
        tasks.cancel_scope.cancel()


async def _end_unanswered(form: Form, body: Body, send: Send, *, has_begun: bool) -> None:
    """End the response to a request that was cancelled: a stream without an answer, JSON with the one it must have."""
    if form == "json":
        refusal = Refusal(200, "Request cancelled", code=REQUEST_CANCELLED, id=body.message["id"])
        await refusal.send(send, [])
        return
    if not has_begun:
        await send({"type": "http.response.start", "status": 200, "headers": EVENTS})
    await send({"type": "http.response.body", "body": b""})


def _one_event(send: Send) -> Send:
    """Send a JSON answer as the only event of a stream. Anything else goes out unchanged."""
    framed = False

    async def sending(message: Message) -> None:
        nonlocal framed
        if message["type"] == "http.response.start" and message["status"] == 200:
            framed = True
            dropped = (b"content-type", b"content-length")
            headers = [(name, value) for name, value in message["headers"] if name not in dropped]
            message = {**message, "headers": [*headers, *EVENTS]}
        elif framed:
            message = {**message, "body": b"event: message\r\ndata: " + message["body"] + b"\r\n\r\n"}
        await send(message)

    return sending
