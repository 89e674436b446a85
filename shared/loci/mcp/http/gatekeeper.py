"""Checks every MCP request before the SDK sees it: address, method, caller, session, body."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import mcp_types
from mcp.shared.inbound import unsupported_protocol_version_rejection
from mcp_types import HEADER_MISMATCH, INTERNAL_ERROR
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from loci.core.errors import LociError
from loci.core.identity import SYSTEM, Caller
from loci.core.ids import random_id
from loci.core.json import JsonObject
from loci.core.signing import Keyring
from loci.core.stores import RecordStore
from loci.mcp.caller import PAGES_KEY, SCOPE_KEY
from loci.mcp.http.address import Addresses
from loci.mcp.http.body import Batch, Body, parse_body, read_body
from loci.mcp.http.refusal import SESSION, Refusal, check_single, closing, respond
from loci.mcp.http.transport import SESSION_KEY, Form, Transport
from loci.mcp.module import Host
from loci.mcp.threads import on_thread

ENDED_SESSION: Final = "ended_session"
SESSION_SECONDS: Final = 30 * 24 * 3600.0
# The revisions whose clients may send several messages at once.
BATCHED = (None, "2024-11-05", "2025-03-26")
# The form of the answer is decided here. The SDK asks for both types, even if it answers with one.
ACCEPT = (b"accept", b"application/json, text/event-stream")


class Sessions:
    """Begins, checks and ends sessions, for the protocol revisions that have them.

    An id is a sealed token, so any instance can check it. It says if the client can show pages: later requests do not.
    A session ends after 30 days, or when its client ends it; neither a pause nor a deploy ends it. Only ids that a
    client ended are stored, until their 30 days are over.
    """

    def __init__(self, keyring: Keyring, records: RecordStore, clock: Callable[[], float]) -> None:
        self._seal = keyring.seal("session")
        self._records = records
        self._clock = clock

    def begin(self, caller: Caller, *, shows_pages: bool = False) -> str:
        """A new id, which is good for this caller only."""
        claims: JsonObject = {"n": random_id(), "o": caller.owner.key, "e": self._clock() + SESSION_SECONDS}
        return self._seal.close(claims | {"p": True} if shows_pages else claims)

    def check(self, id: str, caller: Caller) -> bool:
        """Refuse an id that is forged, foreign, too old or ended. True if its client can show pages."""
        self._opened(id, caller)
        return (self._seal.open(id) or {}).get("p") is True

    def end(self, id: str, caller: Caller) -> None:
        """Make the id useless to everybody."""
        name, ends = self._opened(id, caller)
        self._records.put(SYSTEM, ENDED_SESSION, name, {}, expires_at=ends)

    def _opened(self, id: str, caller: Caller) -> tuple[str, float]:
        """The session's name, and when it ends by itself."""
        match self._seal.open(id):
            case {"n": str(name), "o": str(owner), "e": float() | int() as ends} if (
                owner == caller.owner.key and ends > self._clock()
            ):
                if self._records.get(SYSTEM, ENDED_SESSION, name) is None:
                    return name, float(ends)
            case _:
                pass
        raise Refusal(404, "Session not found: send initialize to begin a new one")


class Gatekeeper:
    """An ASGI application in front of the endpoints."""

    def __init__(self, host: Host, transports: Mapping[str, Transport], *, is_open: bool) -> None:
        self._host = host
        self._transports = transports
        self._gate = host.gate(is_open=is_open)
        self._addresses = Addresses(host.settings, is_open=is_open)
        self._sessions = Sessions(host.keyring, host.records, time.time)

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
        self._host.telemetry.refused(path=path, status=refusal.status, reason=reason or refusal.message)
        await refusal.send(send, [*_cross_origin(origin), *closing(scope)])

    async def _serve(self, scope: Scope, headers: Headers, origin: str | None, receive: Receive, send: Send) -> None:
        transport = self._transports.get(scope["path"].rstrip("/"))
        if transport is None:
            raise Refusal(404, f"There is no endpoint here: use {', '.join(self._transports)}")
        if scope["method"] == "OPTIONS" and origin is not None:
            return await respond(send, 204, b"", [*_cross_origin(origin), *_preflight(headers)])
        if scope["method"] not in ("POST", "DELETE"):
            raise Refusal(405, "This endpoint takes POST", headers={"Allow": "POST, DELETE"})
        caller = await self._gate.recognise(scope, headers)
        version = headers.get("mcp-protocol-version")
        # The newest revision has no sessions; an id that comes with it is ignored.
        has_sessions = version is None or version in HANDSHAKE_PROTOCOL_VERSIONS
        if scope["method"] == "DELETE":
            return await self._end_session(headers, caller, origin, send, has_sessions=has_sessions)
        form = _form(headers.get("accept"))
        _check_type(headers.get("content-type", ""))
        session = headers.get("mcp-session-id") if has_sessions else None
        shows_pages = session is not None and await on_thread(self._sessions.check, session, caller)
        body = parse_body(await read_body(receive, headers.get("content-length")))
        passed, extra = _passed_on(scope, caller, session, shows_pages=shows_pages), _cross_origin(origin)
        if isinstance(body, Batch):
            if version not in BATCHED:
                raise Refusal(400, "This protocol revision has no batches: send one message a request")
            parts = [_checked(part, version) for part in body.parts]
            return await transport.answer_batch(parts, passed, send, extra)
        _check_version(body.message, version)
        if body.tolerated:
            self._host.telemetry.tolerated("closing braces behind the message")
        if has_sessions and body.message.get("method") == "initialize":
            id = self._sessions.begin(caller, shows_pages=_declares_pages(body.message))
            extra.append((SESSION, id.encode()))
        sending = _with_headers(send, extra) if extra else send
        return await transport.serve(form, body, passed, receive, sending, has_sessions=has_sessions)

    async def _end_session(
        self, headers: Headers, caller: Caller, origin: str | None, send: Send, *, has_sessions: bool
    ) -> None:
        if not has_sessions:
            raise Refusal(405, "This protocol revision has no sessions to end", headers={"Allow": "POST"})
        id = headers.get("mcp-session-id")
        if id is None:
            raise Refusal(400, "DELETE ends a session: name it in the session header")
        await on_thread(self._sessions.end, id, caller)
        await respond(send, 204, b"", _cross_origin(origin))


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


def _passed_on(scope: Scope, caller: Caller, session: str | None, *, shows_pages: bool) -> Scope:
    headers = [(name, value) for name, value in scope["headers"] if name not in (b"accept", b"content-type")]
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
