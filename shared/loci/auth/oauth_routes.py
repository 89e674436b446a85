"""The endpoints of the built-in authorization server: the SDK's handlers, behind a door that reads requests strictly.

Its routes would not do. They send the browser on with a fault, and anybody can register a client: any link to Loci
could lead to any page (RFC 9700, 4.11). Of a parameter that comes twice they take the last, and they serve a form that
comes as OPTIONS. They revoke nothing without a `client_secret`, which no client here has.
"""

import html
import json
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import parse_qsl, urlsplit

from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import ClientAuthenticator
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    RegistrationError,
    TokenError,
)
from mcp.server.auth.routes import build_metadata
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import InvalidRedirectUriError, OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl, AnyUrl
from starlette.datastructures import FormData, Headers, QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from loci.auth.grants import ACCESS_SECONDS, AskedGrant, Tokens, consents_of, grants_of
from loci.auth.oauth_clients import OAuthClient, TooManyPrograms, clients_of, is_document, spelled
from loci.core.errors import LociError, Refused
from loci.core.scopes import SCOPES, scopes_at
from loci.mcp.http.address import check_single
from loci.mcp.http.application import path_of
from loci.mcp.http.body import check_shape, read_body
from loci.mcp.http.endpoint import replayed
from loci.mcp.http.refusal import Refusal, closing
from loci.mcp.threads import THREADS, UPSTREAM, on_thread, on_thread_of
from loci.mcp.tool import SURFACES

if TYPE_CHECKING:
    from loci.app import App

CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
LONGEST_STATE: Final = 2048
LARGEST: Final = 64 * 1024
METADATA: Final = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")
"""RFC 7636, 4.1."""
RETRY_SECONDS: Final = {429: 3600, 503: 60}
NOT_KEPT: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
FOR_ALL: Final = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "MCP-Protocol-Version"}
PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
    "Access-Control-Max-Age": "600",
}
Answer = Callable[[Request], Coroutine[Any, Any, Response]]


class Wrong(Exception):
    """A request that is refused, with its error of RFC 6749."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.error, self.description, self.status = error, description, status


class KnownClient(OAuthClientInformationFull):
    """A client, as the SDK checks its requests. It has no secret, whatever it asked for: a program keeps none."""

    known: OAuthClient

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        """The address, if it is registered. Without one, the only one."""
        if redirect_uri is None:
            if len(self.known.redirects) == 1:
                return AnyUrl(self.known.redirects[0])
            raise InvalidRedirectUriError("Name the redirect_uri: this client has several")
        if not self.known.accepts(str(redirect_uri)):
            raise InvalidRedirectUriError("This redirect_uri is not registered for the client")
        return redirect_uri

    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        """The scopes. An empty list of them counts as left out (RFC 6749, 3.1)."""
        return super().validate_scope(requested_scope or None)


class AuthorizationServer(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Registers clients, sends people to the page that asks for consent, and gives tokens."""

    def __init__(self, app: "App", address: str, told: Mapping[str, Any]) -> None:
        """`address` is the sender's. `told` is what they sent, of which the SDK passes only a part on."""
        self._clients = clients_of(app)
        self._grants = grants_of(app)
        self._consents = consents_of(app)
        self._base = app.settings.base_url
        self._resources = [self._base + path_of(one) for one in SURFACES]
        self._address = address
        self._told = told

    async def client(self, id: str) -> OAuthClient | None:
        """The client with this id. Raises `Refused` if the document there is not good."""
        return await on_thread_of(UPSTREAM if is_document(id) else THREADS, self._clients.get, id, self._address)

    async def get_client(self, client_id: str) -> KnownClient | None:
        try:
            client = await self.client(client_id)
        except Refused:
            client = None
        if client is None:
            return None
        return KnownClient(
            known=client,
            client_id=client.id,
            client_name=client.name,
            redirect_uris=[AnyUrl(one) for one in client.redirects],
            token_endpoint_auth_method="none",  # noqa: S106 (the name of a method)
            scope=" ".join(SCOPES),
        )

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        # As they came: in the SDK's spelling, one that could be read in two ways looks like one that could not.
        redirects = [str(one) for one in cast("list[object]", self._told.get("redirect_uris") or [])]
        try:
            client = await on_thread(self._clients.register, client_info.client_name or "", redirects, self._address)
        except Refused as error:
            is_redirect = error.code == "BAD_REDIRECT"
            raise RegistrationError(
                "invalid_redirect_uri" if is_redirect else "invalid_client_metadata", str(error)
            ) from None
        client_info.client_id = client.id
        client_info.client_secret = client_info.client_secret_expires_at = None
        client_info.token_endpoint_auth_method = "none"  # noqa: S105

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """The address of the page on which the person decides."""
        if not CHALLENGE.fullmatch(params.code_challenge):
            raise AuthorizeError("invalid_request", "code_challenge must be the S256 of a verifier, in base64url")
        if len(params.state or "") > LONGEST_STATE:
            raise AuthorizeError("invalid_request", f"state has more than {LONGEST_STATE} characters")
        resource = (params.resource or self._resources[0]).rstrip("/")
        if resource not in self._resources:
            raise AuthorizeError("invalid_target", f"resource must be one of {' '.join(self._resources)}")
        needed = scopes_at(resource.removeprefix(self._base))
        scopes = tuple(scope for scope in needed if not params.scopes or scope in params.scopes)
        if not scopes:
            raise AuthorizeError("invalid_scope", f"{resource} has a use for {' '.join(needed)} only")
        asked = AskedGrant(
            client=_known(client).id,
            redirect=str(params.redirect_uri),
            named_redirect=params.redirect_uri_provided_explicitly,
            challenge=params.code_challenge,
            scopes=scopes,
            resource=resource,
            state=params.state,
        )
        return self._consents.page_for(asked)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        grant = await on_thread(self._grants.with_code, authorization_code, _known(client).id)
        if grant is None:
            return None
        self._check_resource(grant.resource)
        return AuthorizationCode(
            code=authorization_code,
            scopes=list(grant.scopes),
            expires_at=grant.until,
            client_id=grant.client,
            code_challenge=grant.challenge,
            redirect_uri=AnyUrl(grant.redirect),
            redirect_uri_provided_explicitly=grant.named_redirect,
            resource=grant.resource,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        known = _known(client)
        await on_thread(self._clients.keep, known)
        return _given(await on_thread(self._grants.exchange, authorization_code.code, known.id))

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        grant = await on_thread(self._grants.renewable, refresh_token, _known(client).id)
        if grant is not None:
            self._check_resource(grant.resource)
        return grant and RefreshToken(token=refresh_token, client_id=grant.client, scopes=list(grant.scopes))

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        await on_thread(self._clients.keep, _known(client))
        return _given(await on_thread(self._grants.renew, refresh_token.token, scopes))

    async def revoke(self, client_id: str, token: str) -> None:
        """End the client's grant that the token names, and with it all its tokens."""
        if await self.get_client(client_id) is None:
            raise Wrong("invalid_client", "There is no such client", 401)
        await on_thread(self._grants.revoke_token, token, client_id)

    def _check_resource(self, granted: str) -> None:
        """RFC 8707: a client may name the resource again, but no other one."""
        if (named := str(self._told.get("resource", ""))) and named.rstrip("/") != granted:
            raise Wrong("invalid_target", f"The person has allowed {granted}, and no other resource")


def _known(client: OAuthClientInformationFull) -> OAuthClient:
    return cast("KnownClient", client).known


def _given(tokens: Tokens | None) -> OAuthToken:
    if tokens is None:
        raise TokenError("invalid_grant", "It was used by somebody else at the same time, or has ended")
    return OAuthToken(
        access_token=tokens.access,
        expires_in=ACCESS_SECONDS,
        scope=" ".join(tokens.scopes),
        refresh_token=tokens.renews,
    )


class OAuthEndpoints:
    """An ASGI application at the root of the host."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._issuer = app.settings.base_url
        self._registration = ClientRegistrationOptions(enabled=True, valid_scopes=list(SCOPES))
        revocation = RevocationOptions(enabled=True)
        told = build_metadata(AnyHttpUrl(self._issuer), None, self._registration, revocation)
        self._metadata = told.model_dump(mode="json", exclude_none=True) | {
            "issuer": self._issuer,
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": True,
        }
        # RFC 8414 puts the issuer's own path behind the well-known one.
        ends = {"", urlsplit(self._issuer).path.rstrip("/")}
        self._answers: dict[str, tuple[Answer, tuple[str, ...]]] = {
            "/authorize": (self._authorize, ("GET", "POST")),
            "/token": (self._token, ("POST", "OPTIONS")),
            "/register": (self._register, ("POST", "OPTIONS")),
            "/revoke": (self._revoke, ("POST", "OPTIONS")),
            **{f"{path}{end}": (self._tell, ("GET", "HEAD", "OPTIONS")) for path in METADATA for end in ends},
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        reason = ""
        try:
            check_single(scope)
            if path not in self._answers:
                raise Wrong("invalid_request", "No authorization server has this address", 404)
            answers, methods = self._answers[path]
            if scope["method"] not in methods:
                raise Wrong("invalid_request", f"This endpoint takes {methods[0]}", 405)
            if scope["method"] == "OPTIONS" and methods[0] == "POST":
                answer = Response(status_code=204, headers=PREFLIGHT)
            else:
                body = await read_body(receive, Headers(scope=scope).get("content-length"), LARGEST)
                answer = await answers(Request(scope, replayed(body, receive)))
        except (Wrong, Refusal, LociError) as error:
            answer, reason = self._refused(error, scope), str(error)
        if answer.status_code >= 400:
            shown = path if path in self._answers else "elsewhere"
            reason = reason or json.loads(bytes(answer.body))["error"]
            self._app.telemetry.refused(path=shown, status=answer.status_code, reason=reason)
        for name, value in {**NOT_KEPT, **({} if path == "/authorize" else FOR_ALL)}.items():
            answer.headers.setdefault(name, value)
        await answer(scope, receive, send)

    async def _tell(self, _: Request) -> Response:
        return JSONResponse(self._metadata)

    async def _authorize(self, request: Request) -> Response:
        """Show the faults to the person: only their own decision sends the browser elsewhere."""
        fields = _fields(request.query_params) if request.method == "GET" else await _posted(request)
        if fields.get("response_mode", "query") != "query":
            raise Wrong("invalid_request", "response_mode must be query")
        server = AuthorizationServer(self._app, self._address(request), fields)
        try:
            if "redirect_uri" in fields:
                spelled(fields["redirect_uri"])
            await server.client(fields.get("client_id", ""))
        except Refused as error:
            raise Wrong("invalid_request" if error.code == "BAD_REDIRECT" else "invalid_client", str(error)) from None
        answer = await AuthorizationHandler(server).handle(request)
        where = answer.headers.get("location", "")
        if where.startswith(f"{self._issuer}/ui/"):
            return answer
        told: dict[str, str] = dict(parse_qsl(urlsplit(where).query)) or json.loads(bytes(answer.body))
        raise Wrong(told["error"], told.get("error_description", ""), 503 if told["error"] == "server_error" else 400)

    async def _token(self, request: Request) -> Response:
        fields = await _posted(request)
        if "code" in fields and not VERIFIER.fullmatch(fields.get("code_verifier", "")):
            raise Wrong("invalid_request", "code_verifier must have 43 to 128 letters, digits, and any of -._~")
        server = AuthorizationServer(self._app, self._address(request), fields)
        return await TokenHandler(server, ClientAuthenticator(server)).handle(request)

    async def _revoke(self, request: Request) -> Response:
        fields = await _posted(request)
        if "token" not in fields:
            raise Wrong("invalid_request", "token is missing")
        server = AuthorizationServer(self._app, self._address(request), fields)
        await server.revoke(fields.get("client_id", ""), fields["token"])
        return Response()

    async def _register(self, request: Request) -> Response:
        body = await request.body()
        try:
            check_shape(body)
            told: object = json.loads(body)
        except (Refusal, ValueError) as error:
            raise Wrong("invalid_client_metadata", f"The registration is no small JSON object: {error}") from None
        sent = cast("dict[str, object]", told) if isinstance(told, dict) else {}
        server = AuthorizationServer(self._app, self._address(request), sent)
        return await RegistrationHandler(server, self._registration).handle(request)

    def _address(self, request: Request) -> str:
        """The address that is counted: the caller's own, also behind a proxy."""
        name = self._app.settings.aws.address_header
        passed = request.headers.getlist(name) if name else []
        # What comes before the last comma, the caller may have sent.
        return passed[-1].rpartition(",")[2].strip() if passed else request.client.host if request.client else ""

    def _refused(self, error: Wrong | Refusal | LociError, scope: Scope) -> Response:
        match error:
            case Wrong():
                wrong = error
            case Refusal():
                wrong = Wrong("invalid_request", error.message, error.status)
            case TooManyPrograms():
                wrong = Wrong("temporarily_unavailable", str(error), 429)
            case _:
                # Only the log says more: an unknown caller need not learn where the store is.
                wrong = Wrong("temporarily_unavailable", "Loci cannot answer now. Try again in a minute", 503)
        headers = {name.decode(): value.decode() for name, value in closing(scope)}
        if wrong.status in RETRY_SECONDS:
            headers["Retry-After"] = str(RETRY_SECONDS[wrong.status])
        if scope["path"] == "/authorize":
            return _fault_page(wrong, headers)
        return JSONResponse({"error": wrong.error, "error_description": wrong.description}, wrong.status, headers)


async def _posted(request: Request) -> dict[str, str]:
    """The parameters of a posted form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Wrong("invalid_request", "Send the parameters as application/x-www-form-urlencoded")
    return _fields(await request.form())


def _fields(given: FormData | QueryParams) -> dict[str, str]:
    """The parameters. Refuse one that comes twice (RFC 6749, 3.1): who checks it and who uses it could read others."""
    pairs = given.multi_items()
    fields = {name: value for name, value in pairs if isinstance(value, str)}
    if len(fields) < len(pairs):
        raise Wrong("invalid_request", "A parameter comes twice")
    return fields


def _fault_page(wrong: Wrong, headers: Mapping[str, str]) -> Response:
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport"'
        ' content="width=device-width, initial-scale=1"><title>Loci cannot connect this client</title>'
        f"<h1>Loci cannot connect this client</h1><p>{html.escape(wrong.description)}</p><p>Connect again in your"
        f" client. If it happens again, tell its makers: <code>{html.escape(wrong.error)}</code></p></html>"
    )
    policy = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "X-Frame-Options": "DENY"}
    return HTMLResponse(page, wrong.status, {**policy, **headers})
