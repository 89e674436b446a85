"""The way to the tokens of a tool server: the official client's, with a check of every address on it."""

import re
import secrets
from dataclasses import replace
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.utils import create_client_registration_request, issuers_match
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    TokenEndpointAuthMethod,
)
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import AnyUrl, ValidationError

from loci.adapters.tool_servers.diagnostics import quoted
from loci.adapters.tool_servers.small_requests import SmallRequests
from loci.core.json import JsonObject
from loci.core.redaction import NO_SECRETS, redaction_for
from loci.core.version import version
from loci.gateway.configuration import not_configured
from loci.gateway.ports import Access, Consent, LoginFailed, LoginRequest

PLAIN_URL: Final = re.compile(r"https?://[A-Za-z0-9._~:/?\[\]!&*+,;=%-]+")
"""An address without credentials, and without characters that a terminal or a shell would act on."""
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
METHODS: Final[tuple[TokenEndpointAuthMethod, ...]] = ("none", "client_secret_post", "client_secret_basic")
"""Methods of client authentication, the preferred first. Some servers revoke only with the secret in the body."""
TOKEN: Final = re.compile(r"[\x21-\x7e]{1,16384}")
CODE: Final = re.compile(r"[a-z_]{1,60}")
SECRET_FIELDS: Final = ("code", "code_verifier", "refresh_token", "token", "client_secret")
LONGEST_LIFE: Final = 10 * 365 * 24 * 3600
"""Seconds."""
KEPT: Final = {"issuer", "authorization_endpoint", "token_endpoint", "revocation_endpoint"}
"""The facts about an authorization server that later requests need."""
AGAIN: Final = "Log in again"
MEND: Final = "Ask who runs it to mend that"
OR_TOKEN: Final = f"{MEND}, or use a token: loci tools add NAME URL --header 'Authorization: Bearer …'"
BY_HAND: Final = "Register an app there by hand, and give its id: loci tools login NAME --client-id ID"


class OAuthFlow(OAuthClientProvider):
    """Requests to an authorization server. Its answers are kept in memory: the caller stores them."""

    def __init__(
        self, http: SmallRequests, resource: str, client: JsonObject | None, redirect: str | None = None
    ) -> None:
        """`resource`: the tool server's name there. `client`: who Loci is there, if that is known."""
        about = OAuthClientMetadata(client_name="Loci", redirect_uris=None if redirect is None else [AnyUrl(redirect)])
        super().__init__(resource, about, self)
        self._http = http
        self._advice = AGAIN
        self._client = None if client is None else OAuthClientInformationFull.model_validate(client)
        self.context.client_info = self._client
        self.context.protocol_version = LATEST_PROTOCOL_VERSION

    async def renew(self, access: Access) -> Access:
        """The same access with other tokens. What the answer leaves out stays as it was."""
        self.context.oauth_metadata = OAuthMetadata.model_validate(access.server)
        if access.refresh is None:
            request = self._machine_request(access.scope)
        else:
            self.context.current_tokens = OAuthToken(access_token=access.token, refresh_token=access.refresh)
            request = await self._refresh_token()
        given = self._tokens(await self._send(request))
        refresh, scope = access.refresh and (given.refresh_token or access.refresh), given.scope or access.scope
        return replace(access, token=given.access_token, refresh=refresh, seconds=given.expires_in, scope=scope)

    async def revoke(self, access: Access) -> bool:
        """Revoke the tokens, as `AuthorizationServers.revoke` does."""
        self.context.oauth_metadata = server = OAuthMetadata.model_validate(access.server)
        if server.revocation_endpoint is None:
            return False
        form = {"token": access.refresh or access.token, "client_id": str(access.client.get("client_id"))}
        form, headers = self.context.prepare_token_auth(form, {})
        request = httpx2.Request("POST", str(server.revocation_endpoint), data=form, headers=headers)
        self._check_answer(await self._send(request))
        return True

    def _machine_request(self, scope: str | None) -> httpx2.Request:
        """The request for a token of a client with a secret, for which no person is asked."""
        form = {"grant_type": "client_credentials", "resource": self.context.get_resource_url()}
        form |= {"client_id": self._client.client_id if self._client else ""} | ({"scope": scope} if scope else {})
        form, headers = self.context.prepare_token_auth(form, {})
        return httpx2.Request("POST", self._get_token_endpoint(), data=form, headers=headers)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Send it by https, or on this machine if the tool server is there, too."""
        if not _is_safe(str(request.url), self.context.server_url):
            what = f"{quoted(str(request.url), NO_SECRETS)} is not reached by https"
            raise LoginFailed(f"Its authorization server is not safe: {what}", OR_TOKEN)
        return await self._http.send(request)

    def _tokens(self, answer: httpx2.Response) -> OAuthToken:
        """The tokens in the answer. Raises `LoginFailed` if the answer has no usable tokens."""
        self._check_answer(answer)
        try:
            given = OAuthToken.model_validate_json(answer.content)
        except ValidationError:
            what = f"no token that Loci understands (it answered {answer.status_code})"
            raise LoginFailed(f"{self._issuer} sent {what}", MEND) from None
        if not all(TOKEN.fullmatch(one) for one in (given.access_token, given.refresh_token) if one is not None):
            raise LoginFailed(f"{self._issuer} sent a token with characters that no token has", MEND)
        if given.expires_in is not None:
            given.expires_in = min(max(0, given.expires_in), LONGEST_LIFE)
        if given.scope is not None:  # GitHub separates scopes by commas
            given.scope = " ".join(given.scope.replace(",", " ").split()) or None
        return given

    def _check_answer(self, answer: httpx2.Response) -> None:
        """Raise `LoginFailed` if the answer is an error: GitHub sends some with status 200."""
        try:
            body: Any = answer.json()
        except (ValueError, RecursionError):
            body = None
        fields = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
        error = fields.get("error")
        if error is None and answer.status_code in (200, 201):
            return
        form, client = parse_qs(answer.request.content.decode()), self.context.client_info
        sent = [text for name in SECRET_FIELDS for text in form.get(name, [])]
        sent += [client.client_secret] if client and client.client_secret else []
        said = quoted(str(fields.get("error_description") or ""), redaction_for(frozenset(sent)))
        known = error if isinstance(error, str) and CODE.fullmatch(error) else None
        why = ": ".join(part for part in (known or f"it answered {answer.status_code}", said) if part)
        raise LoginFailed(f"{self._issuer} refuses ({why})", self._advice, known)

    @property
    def _issuer(self) -> str:
        server = self.context.oauth_metadata
        return f"The authorization server {server.issuer}" if server else "The server"

    # The storage that the official client wants.

    async def get_tokens(self) -> None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None: ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


class LoginFlow(OAuthFlow):
    """A new login."""

    def __init__(
        self, http: SmallRequests, wanted: LoginRequest, client: JsonObject | None, consent: Consent | None
    ) -> None:
        """`consent` of a person; None: the client's secret suffices."""
        # RFC 8707 wants no query in the name of a server: there may be a key in it.
        name = wanted.endpoint.url.partition("#")[0].partition("?")[0]
        super().__init__(http, name, client, consent.redirect if consent else None)
        self._wanted = wanted
        self._consent = consent
        self._advice = f"Check the oauth settings of {wanted.name}" if consent is None else AGAIN
        self._redaction = redaction_for(wanted.endpoint.secrets)
        self._refused = self._told = 401
        self._address = ""
        self.context.auth_server_url = wanted.oauth.issuer
        self.context.redirect_handler, self.context.callback_handler = self._keep_address, self._answer

    async def begin(self, scope: str | None) -> Access:
        """Find the issuer of tokens, and get some. `scope`: to ask for, instead of the scope that the server wants."""
        url, oauth = self._wanted.endpoint.url, self._wanted.oauth
        if not _is_safe(url, url):
            what = f"{self._wanted.name} is not reached by https"
            raise LoginFailed(what, "Correct its URL: anybody could read the token")
        try:
            if self._consent is None and oauth.token_url is not None:
                await self._go_to(oauth.token_url, scope)
            else:
                await self._find(scope)
        except OAuthRegistrationError as error:
            said = quoted(str(error), self._redaction)
            raise LoginFailed(f"{self._issuer} does not register Loci: {said}", BY_HAND) from None
        except (OAuthFlowError, ValueError) as error:
            raise LoginFailed(f"No login is possible: {quoted(str(error), self._redaction)}", OR_TOKEN) from None
        server, given, client = self._server(), self.context.current_tokens, self.context.client_info
        if given is None or client is None:
            raise AssertionError("the flow has ended without tokens")
        return Access(
            server=server.model_dump(mode="json", include=KEPT, exclude_none=True),
            client=client.model_dump(mode="json", exclude_none=True),
            resource=self.context.get_resource_url(),
            token=given.access_token,
            refresh=None if self._consent is None else given.refresh_token,
            seconds=given.expires_in,
            scope=given.scope or self.context.client_metadata.scope,
            only_public=self._wanted.endpoint.only_public,
        )

    async def _find(self, scope: str | None) -> None:
        """Begin the official client's flow with a refusal, also at a server that at first asks for no login."""
        about = {"name": "loci", "version": version()}
        params = {"protocolVersion": LATEST_PROTOCOL_VERSION, "capabilities": {}, "clientInfo": about}
        headers = {**self._wanted.endpoint.headers, "Accept": "application/json, text/event-stream"}
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        hello = httpx2.Request("POST", self._wanted.endpoint.url, headers=headers, json=message)
        answer = await self._send(hello)
        self._refused = answer.status_code
        said = answer.headers.get("WWW-Authenticate", "Bearer")
        said = f'Bearer scope="{scope}", {said}' if scope else said
        answer = httpx2.Response(401, headers={"WWW-Authenticate": said}, request=hello)
        hello.headers[MCP_PROTOCOL_VERSION_HEADER] = LATEST_PROTOCOL_VERSION
        flow = self.async_auth_flow(hello)
        try:
            await anext(flow)
            while (request := await flow.asend(answer)) is not hello:
                is_registration = request.method == "POST" and self.context.client_info is None
                answer = await self._send(self._registration() if is_registration else request)
                self._told = answer.status_code
        finally:
            await flow.aclose()

    async def _go_to(self, token_url: str, scope: str | None) -> None:
        """Ask for tokens at the address that the entry names."""
        if not _is_safe(token_url, self._wanted.endpoint.url):
            raise not_configured(self._wanted.name, "its token_url is not reached by https", "Correct it")
        known = {"issuer": self._wanted.oauth.issuer or token_url, "token_endpoint": token_url}
        self.context.oauth_metadata = OAuthMetadata.model_validate({**known, "authorization_endpoint": token_url})
        self.context.client_metadata.scope = scope
        await self._handle_token_response(await self._send(await self._perform_authorization()))

    def _registration(self) -> httpx2.Request:
        """The registration of a client that says who it is in a way that the server knows."""
        server, about = self._server(), self.context.client_metadata
        if server.registration_endpoint is None:
            raise LoginFailed(f"{server.issuer} registers no programs by itself", BY_HAND)
        supported = server.token_endpoint_auth_methods_supported or ()
        about.token_endpoint_auth_method = next((one for one in METHODS if one in supported), None)
        return create_client_registration_request(server, about, "")

    def _server(self) -> OAuthMetadata:
        """The metadata of the server that gives out the tokens. Raises `LoginFailed` if it publishes no metadata."""
        if self.context.oauth_metadata is None:
            what = f"without a login it answered {self._refused}, and the last place to ask how to log in {self._told}"
            raise LoginFailed(f"{self._wanted.name} publishes no metadata for logins: {what}", OR_TOKEN)
        return self.context.oauth_metadata

    def _select_authorization_server(self, advertised: list[str]) -> str:
        wanted = self._wanted.oauth.issuer
        return next((one for one in advertised if wanted and issuers_match(one, wanted)), wanted or advertised[0])

    async def _perform_authorization(self) -> httpx2.Request:
        server, client, oauth = self._server(), self.context.client_info, self._wanted.oauth
        if client is not None and client.client_secret is not None and client.client_secret == oauth.client_secret:
            self._check_trusted(server)
        if client is not None and client.token_endpoint_auth_method is None:
            # RFC 7591 means Basic, but servers that say nothing of it expect the secret in the body, such as GitHub's.
            methods = server.token_endpoint_auth_methods_supported or ["client_secret_post"]
            method = "client_secret_post" if "client_secret_post" in methods else "client_secret_basic"
            client.token_endpoint_auth_method = method if client.client_secret else "none"
        if self._consent is None:
            return self._machine_request(self.context.client_metadata.scope)
        if "S256" not in (server.code_challenge_methods_supported or ()):
            raise LoginFailed(f"{server.issuer} does not say that it knows PKCE: a login could be stolen", MEND)
        address = str(server.authorization_endpoint)
        if not (PLAIN_URL.fullmatch(address) and _is_safe(address, self.context.server_url)):
            what = f"has an address that is not safe: {quoted(address, self._redaction)}"
            raise LoginFailed(f"{self._issuer} {what}", MEND)
        return await super()._perform_authorization()

    def _check_trusted(self, server: OAuthMetadata) -> None:
        """The tool server decides whom the secret of the entry is sent to, unless its owner does."""
        is_named = self._wanted.oauth.issuer is not None or str(server.token_endpoint) == self._wanted.oauth.token_url
        if not is_named and _origin(str(server.token_endpoint)) != _origin(self._wanted.endpoint.url):
            advice = f"If you trust it with the secret, say so with --issuer {server.issuer}, or as issuer in its oauth"
            raise not_configured(self._wanted.name, f"its tokens are given out by {server.issuer}", advice)

    async def _keep_address(self, url: str) -> None:
        base = str(self._server().authorization_endpoint)
        self._address = f"{base}&{url.removeprefix(f'{base}?')}" if "?" in base else url

    async def _answer(self) -> AuthorizationCodeResult:
        """The answer of the person. The official client checks who gave it."""
        if self._consent is None:
            raise AssertionError("there is nobody to ask")
        issuer = str(self._server().issuer)
        fields = self._consent.ask(self._address, issuer)
        [state] = parse_qs(urlsplit(self._address).query)["state"]
        if not secrets.compare_digest(fields.get("state", "").encode(), state.encode()):
            raise LoginFailed("The answer belongs to another login", AGAIN)
        if "error" in fields or not fields.get("code"):
            why = " ".join(fields.get("error", "no code").split())
            raise LoginFailed(f"{issuer} did not log in: {why[:100]!r}", AGAIN, fields.get("error"))
        return AuthorizationCodeResult(code=fields["code"], state=state, iss=fields.get("iss"))

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        self.context.current_tokens = self._tokens(response)


def _is_safe(address: str, url: str) -> bool:
    """True for https. A tool server on this machine may name others on it."""
    is_here = urlsplit(address).hostname in LOOPBACK and urlsplit(url).hostname in LOOPBACK
    return address.lower().startswith("https://") or is_here


def _origin(url: str) -> str:
    return "{0.scheme}://{0.netloc}".format(urlsplit(url)).lower()
