"""The endpoints of the built-in authorization server: the SDK's routes, behind a door that reads requests strictly."""

import html
import json
from collections.abc import Mapping
from typing import Final, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from mcp.server.auth.routes import build_metadata, create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from pydantic import AnyHttpUrl
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Router
from starlette.types import Message, Receive, Scope, Send

from loci.core.errors import LociError, Refused
from loci.core.scopes import SCOPES
from loci.mcp.auth.authorization_server import SENT, Sent, authorization_server
from loci.mcp.auth.client_documents import is_document
from loci.mcp.auth.hourly_limits import TooManyPrograms
from loci.mcp.auth.oauth_forms import Wrong, check_registration, completed, fields_of, form_fields
from loci.mcp.auth.oauth_parts import clients_of
from loci.mcp.http.body import read_body
from loci.mcp.http.gatekeeper import check_single, closing
from loci.mcp.http.refusal import Refusal
from loci.mcp.module import Host
from loci.mcp.threads import UPSTREAM, on_thread_of

LARGEST: Final = 64 * 1024
METADATA: Final = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
READ_ALREADY: Final = (b"content-length", b"content-type", b"transfer-encoding", b"authorization")
FORMS: Final = ("/token", "/revoke")
ENDPOINTS: Final = ("/authorize", "/register", *FORMS, *METADATA)
RETRY_SECONDS: Final = {429: 3600, 503: 60}
NOT_KEPT: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
FOR_ALL: Final = {"Access-Control-Allow-Origin": "*"}
PREFLIGHT: Final = {
    **NOT_KEPT,
    **FOR_ALL,
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
    "Access-Control-Max-Age": "600",
}
PLAIN: Final = {**NOT_KEPT, "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}


class OAuthEndpoints:
    """An ASGI application at the root of the host."""

    def __init__(self, host: Host) -> None:
        issuer = host.settings.base_url
        registration = ClientRegistrationOptions(enabled=True, valid_scopes=list(SCOPES))
        revocation = RevocationOptions(enabled=True)
        address = AnyHttpUrl(issuer)
        routes = create_auth_routes(
            authorization_server(host),
            address,
            client_registration_options=registration,
            revocation_options=revocation,
        )
        told = build_metadata(address, None, registration, revocation).model_dump(mode="json", exclude_none=True)
        self._metadata = told | {
            "issuer": issuer,
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": True,
        }
        self._issuer = issuer
        self._host = host
        self._router = Router(routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        try:
            check_single(scope)
            if path.startswith(METADATA):
                await self._told(scope)(scope, receive, send)
            elif path == "/authorize":
                await self._authorize(scope, receive, send)
            else:
                await self._form(scope, receive, send)
        except (Wrong, Refusal) as error:
            wrong = error if isinstance(error, Wrong) else Wrong("invalid_request", error.message, error.status)
            await self._refuse(wrong, scope, receive, send)
        except TooManyPrograms as error:
            await self._refuse(Wrong("temporarily_unavailable", str(error), 429), scope, receive, send)
        except LociError as error:
            # Only the log says more: an unknown caller need not learn where the store is.
            wrong = Wrong("temporarily_unavailable", "Loci cannot answer now. Try again in a minute", 503)
            await self._refuse(wrong, scope, receive, send, reason=str(error))

    def _told(self, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            raise Wrong("invalid_request", "This document is read with GET", 405)
        if scope["path"] not in self._metadata_paths():
            raise Wrong("invalid_request", "No authorization server has this address", 404)
        headers = {**FOR_ALL, "Cache-Control": "no-store", "Access-Control-Allow-Headers": "MCP-Protocol-Version"}
        return JSONResponse(self._metadata, headers=headers)

    def _metadata_paths(self) -> set[str]:
        """RFC 8414 puts the issuer's own path behind the well-known one."""
        own = urlsplit(self._issuer).path.rstrip("/")
        return {f"{path}{end}" for path in METADATA for end in ("", own)}

    async def _authorize(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on. A person sees its faults: only their own decision sends the browser elsewhere."""
        if scope["method"] == "GET":
            fields = fields_of(scope["query_string"])
        elif scope["method"] == "POST":
            fields = fields_of(await read_body(receive, Headers(scope=scope).get("content-length"), LARGEST))
        else:
            raise Wrong("invalid_request", "Send the browser there with GET", 405)
        if fields.get("response_mode", "query") != "query":
            raise Wrong("invalid_request", "response_mode must be query")
        SENT.set(Sent(self._address(scope), fields))
        await self._check_document(fields.get("client_id", ""), self._address(scope))
        answer = await self._answered({**scope, "method": "GET", "query_string": urlencode(fields).encode()}, b"")
        if not answer.headers.get("location", "").startswith(f"{self._issuer}/ui/"):
            raise _fault(answer)
        away = {"Location": answer.headers["location"], **NOT_KEPT}
        await Response(status_code=302, headers=away)(scope, receive, send)

    async def _check_document(self, client: str, address: str) -> None:
        """Say what is wrong with a client's document: the SDK would say only that there is no such client."""
        if not is_document(client):
            return
        try:
            await on_thread_of(UPSTREAM, clients_of(self._host).get, client, address)
        except Refused as error:
            raise Wrong("invalid_client", str(error)) from None

    async def _form(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Token, revocation and registration."""
        path, headers = scope["path"], Headers(scope=scope)
        if scope["method"] == "OPTIONS":  # not the SDK's: it serves a form that comes so, too
            await Response(status_code=204, headers=PREFLIGHT)(scope, receive, send)
            return
        if scope["method"] != "POST":
            raise Wrong("invalid_request", "This endpoint takes POST", 405)
        body, fields = await read_body(receive, headers.get("content-length"), LARGEST), dict[str, str]()
        if path in FORMS:
            fields = completed(path, form_fields(headers, body), headers)
            body = urlencode(fields).encode()
        else:
            check_registration(body)
        SENT.set(Sent(self._address(scope), fields))
        answer = await self._answered(scope, body)
        kept = {**NOT_KEPT, **FOR_ALL}
        await Response(answer.body, answer.status, kept, answer.headers.get("content-type"))(scope, receive, send)

    def _address(self, scope: Scope) -> str:
        """The address that is counted: the caller's own, also behind a proxy."""
        name = self._host.settings.address_header
        passed = Headers(scope=scope).getlist(name) if name else []
        # What comes before the last comma, the caller may have sent.
        return passed[-1].rpartition(",")[2].strip() if passed else (scope.get("client") or ("", 0))[0]

    async def _answered(self, scope: Scope, body: bytes) -> "Answer":
        """The whole answer of the SDK's route."""
        answer = Answer()
        kept = [pair for pair in scope["headers"] if pair[0] not in READ_ALREADY]
        kind = b"application/x-www-form-urlencoded" if scope["path"] in FORMS else b"application/json"
        told = [*kept, (b"content-length", str(len(body)).encode()), (b"content-type", kind)]

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        await self._router({**scope, "headers": told}, receive, answer.take)
        return answer

    async def _refuse(
        self, wrong: Wrong, scope: Scope, receive: Receive, send: Send, reason: str | None = None
    ) -> None:
        path = scope["path"]
        shown = path if path in ENDPOINTS else "elsewhere"
        self._host.telemetry.refused(path=shown, status=wrong.status, reason=reason or wrong.description)
        later = {"Retry-After": str(RETRY_SECONDS[wrong.status])} if wrong.status in RETRY_SECONDS else {}
        ends = {name.decode(): value.decode() for name, value in closing(scope)}
        if path == "/authorize":
            await _fault_page(wrong, {**later, **ends})(scope, receive, send)
            return
        content = {"error": wrong.error, "error_description": wrong.description}
        await JSONResponse(content, wrong.status, {**NOT_KEPT, **FOR_ALL, **later, **ends})(scope, receive, send)


class Answer:
    """Takes the answer of a route, instead of sending it."""

    def __init__(self) -> None:
        self.status = 500
        self.body = b""
        self.headers = Headers()

    async def take(self, message: Message) -> None:
        """A part of it, as ASGI sends it."""
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], Headers(raw=list(message.get("headers", ())))
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")


def _fault(answer: Answer) -> Wrong:
    """The error with which the SDK would send the browser back to the client.

    The person sees it instead. Anybody can register a client: so any link to Loci could lead to any page.
    """
    told = dict(parse_qsl(urlsplit(answer.headers.get("location", "")).query)) or _json(answer.body)
    error = told.get("error", "server_error")
    return Wrong(error, told.get("error_description", ""), 503 if error == "server_error" else 400)


def _fault_page(wrong: Wrong, headers: Mapping[str, str]) -> Response:
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport"'
        ' content="width=device-width, initial-scale=1"><title>Loci cannot connect this client</title>'
        f"<h1>Loci cannot connect this client</h1><p>{html.escape(wrong.description)}</p><p>Connect again in your"
        f" client. If it happens again, tell its makers: <code>{html.escape(wrong.error)}</code></p></html>"
    )
    return HTMLResponse(page, wrong.status, {**PLAIN, "X-Frame-Options": "DENY", **headers})


def _json(body: bytes) -> dict[str, str]:
    try:
        value: object = json.loads(body)
    except ValueError:
        return {}
    return {name: str(one) for name, one in cast("dict[str, object]", value).items()} if isinstance(value, dict) else {}
