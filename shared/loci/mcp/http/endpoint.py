"""The MCP endpoints over HTTP: each request is checked before the SDK sees it, and answered in the form it asks for.

The gatekeeper checks address, method, caller, session and body. The transport answers a message with a stream of
events or with JSON, and a batch with JSON. Sessions are for the protocol revisions that have them. On a machine of
one's own two answers stay open and tell of changed lists: to a GET of a session, and to `subscriptions/listen`.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import mcp_types
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.inbound import unsupported_protocol_version_rejection
from mcp_types import HEADER_MISMATCH, INTERNAL_ERROR
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from loci.core.errors import AS_A_FILE, CallsUsedUp, LociError
from loci.core.identity import Caller
from loci.core.ids import content_id
from loci.mcp.caller import PAGES_KEY, SCOPE_KEY, client_name
from loci.mcp.http.address import Addresses, check_single
from loci.mcp.http.body import Batch, Body, parse_body, read_body
from loci.mcp.http.open_answers import EVENTS, ListChanges, closed, do_until, tell_changes, while_allowed
from loci.mcp.http.refusal import JSON_TYPE, SESSION, Refusal, closing, respond
from loci.mcp.http.sessions import RequestsUnderWay, Sessions
from loci.mcp.threads import UPSTREAM, on_thread, on_thread_of

if TYPE_CHECKING:
    from loci.app import App

# The revisions whose clients may send several messages at once.
BATCHED = (None, "2024-11-05", "2025-03-26")
# The form of the answer is decided here. The SDK asks for both types, even if it answers with one.
ACCEPT = (b"accept", b"application/json, text/event-stream")
SESSION_KEY = "loci.session"
"""The key in the ASGI scope under which the gatekeeper leaves the id of the session, if the request has one."""
LARGEST_ANSWER = 2_500_000
"""Characters of all answers of a batch; a Lambda answer ends at 6 MB and holds them as JSON inside of JSON."""
LISTEN: Final = "subscriptions/listen"
Serve = Callable[[Scope, Receive, Send], Awaitable[None]]
Form = Literal["stream", "json"]


@dataclass(frozen=True, slots=True)
class Transport:
    """The SDK's server, once for each form of the answer."""

    stream: Serve
    json: Serve
    is_quick: Callable[[str], bool]
    """True if calls of that tool end soon and report nothing before."""
    under_way: RequestsUnderWay
    list_changes: Callable[[Caller], ListChanges] | None = None
    """The lists of a caller that change; None: no answer stays open."""

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
        return message.get("method") == LISTEN or (
            message.get("method") == "tools/call" and not self.is_quick(str(params.get("name")))
        )


def _too_much(part: Body) -> str:
    what = "The answers of this batch are too large together: ask for this one alone"
    return Refusal(200, what, code=INTERNAL_ERROR, id=part.message.get("id")).text()


async def _nothing_more() -> Message:
    """Wait for ever: for the SDK the client has neither gone nor sent more."""
    return await asyncio.Future[Message]()


async def _serve_until_closed(serve: Serve, body: Body, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer, unless the client closes the connection before."""
    await do_until(partial(closed, receive), partial(serve, scope, replayed(body.raw, _nothing_more), send))


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


def replayed(raw: bytes, receive: Receive) -> Receive:
    """Give the body again, then whatever else the client sends."""
    left: list[Message] = [{"type": "http.request", "body": raw, "more_body": False}]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again


@dataclass(frozen=True, slots=True)
class RecognisedRequest:
    """A request of a caller who was recognised, and the way back."""

    scope: Scope
    headers: Headers
    origin: str | None
    caller: Caller
    receive: Receive
    send: Send

    @property
    def version(self) -> str | None:
        """The revision of the protocol that the client names."""
        return self.headers.get("mcp-protocol-version")

    @property
    def has_sessions(self) -> bool:
        """True in an older revision. The newest has no sessions; an id that comes with it is ignored."""
        return self.version is None or self.version in HANDSHAKE_PROTOCOL_VERSIONS


class Gatekeeper:
    """An ASGI application in front of the endpoints."""

    def __init__(self, app: "App", transports: Mapping[str, Transport], *, is_open: bool) -> None:
        self._app = app
        self._transports = transports
        self._gate = app.gate(is_open=is_open)
        self._addresses = Addresses(app.settings, is_open=is_open)
        self._sessions = Sessions(app.keyring, app.records, time.time)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        origin: str | None = None
        try:
            check_single(scope)
            origin = self._addresses.check(headers)
            await self._serve(scope, headers, origin, receive, send)
        except Refusal as refusal:
            await self._refuse(refusal, scope, origin, send)
        except LociError as error:  # raised before the SDK was asked, by the store or the issuer of tokens
            # Only the log says more: an unknown caller need not learn where the store is.
            what = f"{error.code}: Loci cannot answer now. Try again in a minute"
            refusal = Refusal(503, what, code=INTERNAL_ERROR, headers={"Retry-After": "60"})
            await self._refuse(refusal, scope, origin, send, reason=str(error))

    async def _refuse(
        self, refusal: Refusal, scope: Scope, origin: str | None, send: Send, reason: str | None = None
    ) -> None:
        path = scope["path"] if scope["path"] in self._transports else "elsewhere"
        self._app.telemetry.refused(path=path, status=refusal.status, reason=reason or refusal.message)
        await refusal.send(send, [*_cross_origin(origin), *closing(scope)])

    async def _serve(self, scope: Scope, headers: Headers, origin: str | None, receive: Receive, send: Send) -> None:
        transport = self._transports.get(scope["path"].rstrip("/"))
        if transport is None:
            raise Refusal(404, f"There is no endpoint here: use {', '.join(self._transports)}")
        if scope["method"] == "OPTIONS" and origin is not None:
            return await respond(send, 204, b"", [*_cross_origin(origin), *_preflight(headers)])
        is_stream = scope["method"] == "GET" and transport.list_changes is not None and "mcp-session-id" in headers
        if scope["method"] not in ("POST", "DELETE") and not is_stream:
            raise Refusal(405, "This endpoint takes POST", headers={"Allow": "POST, DELETE"})
        asked = RecognisedRequest(scope, headers, origin, await self._gate.recognise(scope, headers), receive, send)
        if scope["method"] == "POST":
            return await self._serve_message(transport, asked)
        if not asked.has_sessions:
            raise Refusal(405, "This protocol revision has no sessions: send POST", headers={"Allow": "POST"})
        if transport.list_changes is not None and is_stream:
            return await self._tell_session(transport.list_changes(asked.caller), asked)
        return await self._end_session(asked)

    async def _serve_message(self, transport: Transport, asked: RecognisedRequest) -> None:
        headers, caller, version, has_sessions = asked.headers, asked.caller, asked.version, asked.has_sessions
        form = _form(headers.get("accept"))
        _check_type(headers.get("content-type", ""))
        session = headers.get("mcp-session-id") if has_sessions else None
        client, shows_pages = ("", False) if session is None else await on_thread(self._sessions.check, session, caller)
        caller = replace(caller, client=client) if client else caller
        body = parse_body(await read_body(asked.receive, headers.get("content-length"), advice=AS_A_FILE))
        await self._count_calls(caller, body)
        passed = _passed_on(asked.scope, caller, session, shows_pages=shows_pages)
        extra = _cross_origin(asked.origin)
        if isinstance(body, Batch):
            if version not in BATCHED:
                raise Refusal(400, "This protocol revision has no batches: send one message a request")
            parts = [_checked(part, version) for part in body.parts]
            return await transport.answer_batch(parts, passed, asked.send, extra)
        _check_version(body.message, version)
        if body.tolerated:
            self._app.telemetry.tolerated("closing braces behind the message")
        if has_sessions and body.message.get("method") == "initialize":
            client, shows_pages = _declared_client(body.message), _declares_pages(body.message)
            id = self._sessions.begin(caller, client=client, shows_pages=shows_pages)
            extra.append((SESSION, id.encode()))
        sending = _with_headers(asked.send, extra) if extra else asked.send
        serve = partial(transport.serve, form, body, passed, asked.receive, has_sessions=has_sessions)
        if transport.list_changes is None or has_sessions or body.message.get("method") != LISTEN:
            return await serve(sending)
        if form != "stream":
            raise Refusal(406, "The answer is a stream: accept text/event-stream", id=body.message.get("id"))
        return await while_allowed(partial(self._is_still, asked), serve, sending)

    async def _count_calls(self, caller: Caller, body: Body | Batch) -> None:
        """Refuse calls of tools that are more than the caller's key has left this month."""
        parts = body.parts if isinstance(body, Batch) else (body,)
        calls = [one.message for one in parts if isinstance(one, Body) and one.message.get("method") == "tools/call"]
        if not calls or caller.calls_per_month is None:
            return
        count = partial(self._app.api_keys.count_calls, caller.credential, len(calls), caller.calls_per_month)
        try:
            await on_thread(count)
        except CallsUsedUp as error:
            told, id = f"{error.code}: {error}", None if isinstance(body, Batch) else calls[0].get("id")
            raise Refusal(429, told, id=id, headers={"Retry-After": str(error.details["wait_s"])}) from None

    async def _tell_session(self, changes: ListChanges, asked: RecognisedRequest) -> None:
        """Tell a session of changed lists, until its client closes the connection."""
        if _form(asked.headers.get("accept")) != "stream":
            raise Refusal(406, "The answer is a stream: accept text/event-stream")
        id = asked.headers["mcp-session-id"]
        await on_thread(self._sessions.check, id, asked.caller)
        async with aclosing(changes):
            await anext(changes, ())  # before the answer begins: too many may follow
            sending = _with_headers(asked.send, _cross_origin(asked.origin))
            tell = partial(tell_changes, changes)
            answer = partial(while_allowed, partial(self._is_still, asked, id), tell, sending)
            await do_until(partial(closed, asked.receive), answer)

    async def _is_still(self, asked: RecognisedRequest, session: str | None = None) -> bool:
        """True if the credential is still good, and names the same owner, and the session has not ended."""
        try:
            if session is not None:
                await on_thread(self._sessions.check, session, asked.caller)
            return (await self._gate.recognise(asked.scope, asked.headers)).owner == asked.caller.owner
        except Refusal as refusal:
            return refusal.status == 503
        except LociError:
            return True  # the store cannot say so now

    async def _end_session(self, asked: RecognisedRequest) -> None:
        id = asked.headers.get("mcp-session-id")
        if id is None:
            raise Refusal(400, "DELETE ends a session: name it in the session header")
        await on_thread(self._sessions.end, id, asked.caller)
        on_thread_of(UPSTREAM, self._app.end_session, asked.caller.owner, content_id(id))  # the client need not wait
        await respond(asked.send, 204, b"", _cross_origin(asked.origin))


def _form(accept: str | None) -> Form:
    """A stream if the client names it, JSON if it takes anything."""
    wanted = {one.split(";")[0].strip().lower() for one in (accept or "*/*").split(",")}
    if wanted & {"text/event-stream", "text/*"}:
        return "stream"
    if wanted & {"application/json", "application/*", "*/*"}:
        return "json"
    raise Refusal(406, "Accept application/json, text/event-stream, or both")


def _check_type(content_type: str) -> None:
    if content_type.split(";", maxsplit=1)[0].strip().lower() != "application/json":
        raise Refusal(415, "Send the message as Content-Type: application/json")


def _check_version(message: Mapping[str, Any], version: str | None) -> None:
    """The header decides who serves the request, so it must name a known revision, and the same one as the body."""
    match message:
        case {"params": {"_meta": {mcp_types.PROTOCOL_VERSION_META_KEY: declared}}} if declared != version:
            what = "MCP-Protocol-Version must be sent, and name the same revision as the body"
            raise Refusal(400, what, code=HEADER_MISMATCH, id=message.get("id"))
        case _:
            pass
    if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
        unsupported = unsupported_protocol_version_rejection(version)
        if unsupported is not None:
            raise Refusal(400, unsupported.message, code=unsupported.code, id=message.get("id"), data=unsupported.data)


def _checked(part: Body | Refusal, version: str | None) -> Body | Refusal:
    """Check a part of a batch as a message alone is checked."""
    if isinstance(part, Body):
        try:
            _check_version(part.message, version)
        except Refusal as refusal:
            return refusal
    return part


def _declares_pages(initialize: Mapping[str, Any]) -> bool:
    match initialize:
        case {"params": {"capabilities": {"elicitation": {"url": dict()}}}}:
            return True
        case _:
            return False


def _declared_client(initialize: Mapping[str, Any]) -> str:
    match initialize:
        case {"params": {"clientInfo": {"name": name, "version": version}}}:
            return client_name(name, version)
        case _:
            return ""


def _passed_on(scope: Scope, caller: Caller, session: str | None, *, shows_pages: bool) -> Scope:
    headers = [(name, value) for name, value in scope["headers"] if name not in (b"accept", b"content-type")]
    if session is not None:
        caller = replace(caller, session=content_id(session))
    told = {SCOPE_KEY: caller, SESSION_KEY: session, PAGES_KEY: shows_pages}
    return {**scope, "headers": [*headers, ACCEPT, (b"content-type", b"application/json")], **told}


def _with_headers(send: Send, extra: list[tuple[bytes, bytes]]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            begun = message["status"] == 200
            added = [(name, value) for name, value in extra if begun or name != SESSION]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return sending


def _cross_origin(origin: str | None) -> list[tuple[bytes, bytes]]:
    """Headers for a page of another origin. Without an origin none: some clients search all headers for the session."""
    if origin is None:
        return []
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"Mcp-Session-Id, WWW-Authenticate"),
        (b"vary", b"Origin"),
    ]


def _preflight(headers: Headers) -> list[tuple[bytes, bytes]]:
    wanted = headers.get("access-control-request-headers", "")
    return [
        (b"access-control-allow-methods", b"POST, DELETE"),
        (b"access-control-allow-headers", wanted.encode("latin-1")),
        (b"access-control-max-age", b"600"),
    ]
