"""The protocol over HTTP: every wait and every answer has a bound, and one failure ends only one call."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.client.streamable_http import streamable_http_client

from loci.adapters.tool_servers.diagnostics import (
    LARGEST_ANSWER,
    PENDING_REQUEST,
    PendingRequest,
    quoted,
    server_failed,
)
from loci.adapters.tool_servers.public_addresses import LIMITS, PublicAddresses
from loci.core.errors import LociError
from loci.gateway.tool_server import Endpoint, ToolServer

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

CONNECT_SECONDS = 10.0
SECONDS, GOODBYE_SECONDS, GRACE_SECONDS = 30.0, 2.0, 1.0
"""Seconds for an answer without a caller: the end of a session, or a notice that a call was cancelled."""
REST_SECONDS = 0.1
"""The time to read the end of an answer, which is behind its last event."""
LONGEST_BODY = 256 * 1024
"""The most bytes of an error that is quoted. A longer one could hold part of a secret, which is not recognised."""
LONGEST_BEGINNING = 2048
CHECK_ADDRESS = "Check its address, and that it runs"
TRY_AGAIN = "Look first if the call has done something, then try again"
CORRECT = "Correct the token or the headers of this server in its settings"
PLAIN_SCOPE = re.compile(r"[\w:./*+-]{1,100}", re.ASCII)
"""A scope that may be shown in a command. Servers choose the names, and a hostile one could name anything."""
MOST_SCOPES = 20


@asynccontextmanager
async def http_transport(
    server: ToolServer, endpoint: Endpoint, doubtful: Callable[[], None], *, only_public: bool
) -> AsyncGenerator["TransportStreams"]:
    """Connect to the endpoint. The client follows redirects only to the same host."""
    transport = PublicAddresses() if only_public or endpoint.only_public else None
    async with (
        HttpClient(server, endpoint, transport, doubtful) as client,
        streamable_http_client(endpoint.url, http_client=client, max_sse_event_size=LARGEST_ANSWER) as streams,
    ):
        yield streams


class HttpClient(httpx2.AsyncClient):
    """Keeps network errors with their request: raised, they would end the connection of all callers."""

    def __init__(
        self,
        server: ToolServer,
        endpoint: Endpoint,
        transport: httpx2.AsyncBaseTransport | None,
        doubtful: Callable[[], None],
    ) -> None:
        """`doubtful` is called when the server may have forgotten the session."""
        # No compression, so that no answer exceeds the limit when it is unpacked.
        super().__init__(
            headers={**endpoint.headers, "Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
            limits=LIMITS,
            transport=transport,
            trust_env=transport is None,
        )
        self._credentials = Credentials(server.name, endpoint)
        self._server = server
        self._doubtful = doubtful

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        pending = PENDING_REQUEST.get()
        seconds = SECONDS if pending is None else pending.seconds_left + GRACE_SECONDS
        if request.method == "DELETE":
            seconds = GOODBYE_SECONDS
        try:
            async with asyncio.timeout(seconds):
                response = await self._sent(request, **options)
        except LociError as error:  # there is no token
            return self._failed(request, error.what, error.resolution, 401)
        except (TimeoutError, httpx2.TimeoutException):
            return self._failed(request, f"it did not answer for {seconds:.0f} s", TRY_AGAIN)
        except httpx2.ConnectError as error:
            return self._failed(request, f"it cannot be reached ({_first_line(error)})", CHECK_ADDRESS)
        except (httpx2.TransportError, httpx2.InvalidURL) as error:  # its text may contain a header
            return self._failed(request, f"the connection failed ({type(error).__name__})", TRY_AGAIN)
        return await self._checked(request, response)

    async def _sent(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send it, and once more with another token if the server refuses this one: it has done nothing then."""
        token = self._credentials.add_to(request)
        response = await super().send(request, **options)
        if response.status_code == 401 and token is not None:
            await response.aclose()
            await self._credentials.renew(token)
            self._credentials.add_to(request)
            response = await super().send(request, **options)
        return response

    async def _checked(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        status, kind = response.status_code, response.headers.get("content-type", "").lower()
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            return self._failed(request, "it compresses its answers", "Let it answer without compression")
        if status in (400, 404) and "mcp-session-id" in request.headers:
            self._doubtful()
        if status in (401, 403):
            await response.aclose()
            said = response.headers.get("www-authenticate", "")
            response.headers["www-authenticate"] = self._server.redaction().text(said)
            return self._failed(request, *self._credentials.refused(response), status)
        if status >= 400 and not kind.startswith("application/json"):
            body, redaction = await _body(response), self._server.redaction()
            said = quoted(redaction.text(body)[:LONGEST_BEGINNING], redaction)
            what = ": ".join(part for part in (f"it answered {status}", said) if part)
            return self._failed(request, what, CHECK_ADDRESS, status)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            most = None if kind.startswith("text/event-stream") else LARGEST_ANSWER
            response.stream = _BoundedStream(self._server, response.stream, PENDING_REQUEST.get(), most)
        return response

    def _failed(self, request: httpx2.Request, what: str, resolution: str, status: int = 503) -> httpx2.Response:
        if (pending := PENDING_REQUEST.get()) is not None:
            pending.trouble = server_failed(self._server, what, resolution)
        return httpx2.Response(status, request=request)


class Credentials:
    """Adds the token to requests that go to the endpoint's own origin."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        self._name = name
        self._endpoint = endpoint
        self._bearer = endpoint.bearer
        self._origin = _origin(httpx2.URL(endpoint.url)) if endpoint.bearer else None

    def add_to(self, request: httpx2.Request) -> str | None:
        """Add the token, and return it; None if this server has none, or the request goes to another origin."""
        if self._bearer is None or _origin(request.url) != self._origin:
            return None
        token = self._bearer.token
        request.headers["Authorization"] = f"Bearer {token}"
        return token

    async def renew(self, refused: str) -> None:
        """Replace the token that was refused. Raises `LociError` if no other can be had."""
        if self._bearer is not None:
            await asyncio.to_thread(self._bearer.renew, refused)

    def refused(self, response: httpx2.Response) -> tuple[str, str]:
        """The meaning of a refusal, and what to do about it."""
        status, scopes = response.status_code, list[str]()
        what = f"it wants other credentials ({status})"
        if status == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope":
            said = (extract_scope_from_www_auth(response) or "").split()
            scopes = [one for one in said if PLAIN_SCOPE.fullmatch(one)][:MOST_SCOPES]
            what = f"it wants more rights ({' '.join(scopes) or status})"
        if self._bearer is not None:
            return what, self._bearer.advice(scopes)
        if any(name.lower() == "authorization" for name in self._endpoint.headers):
            return what, CORRECT
        if status == 401:
            what = "it wants a login (401)"
        return what, f"Log in with: loci tools login {self._name}"


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


class _BoundedStream(httpx2.AsyncByteStream):
    """An answer that ends when it gets too large, or when its request is cancelled."""

    def __init__(
        self, server: ToolServer, stream: httpx2.AsyncByteStream, pending: PendingRequest | None, most: int | None
    ) -> None:
        self._server = server
        self._stream = stream
        self._pending = pending
        self._most = most
        self._parts: AsyncIterator[bytes] | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, parts = 0, aiter(self._stream)
        self._parts = parts
        while True:
            try:
                async with asyncio.timeout(
                    None if self._pending is None else self._pending.seconds_to_hear + GRACE_SECONDS
                ):
                    part = await anext(parts)
            except StopAsyncIteration:
                return
            except (TimeoutError, httpx2.TransportError):
                raise self._broken("the connection broke during its answer", TRY_AGAIN) from None
            size += len(part)
            if self._most is not None and size > self._most:
                what = f"its answer has more than {self._most // 1_000_000} MB"
                raise self._broken(what, "Ask it for less at once")
            yield part

    async def aclose(self) -> None:
        """Close it. The client leaves events when it has its answer, and unread they would end the connection."""
        try:
            if self._parts is not None and self._most is None:
                with suppress(TimeoutError, httpx2.TransportError):
                    async with asyncio.timeout(REST_SECONDS):
                        async for _ in self._parts:
                            pass
        finally:
            await self._stream.aclose()

    def _broken(self, what: str, resolution: str) -> httpx2.StreamError:
        if self._pending is not None:
            self._pending.trouble = server_failed(self._server, what, resolution)
        return httpx2.StreamError(what)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200] or type(error).__name__


async def _body(response: httpx2.Response) -> str:
    """The body of an error, as text; empty if it is too long, or takes too long."""
    body = b""
    try:
        async with asyncio.timeout(GRACE_SECONDS):
            async for part in response.aiter_raw():
                body += part
                if len(body) > LONGEST_BODY:
                    return ""
    except (TimeoutError, httpx2.TransportError):
        return ""
    finally:
        await response.aclose()
    return body.decode(errors="replace")
