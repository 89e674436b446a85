"""The built-in authorization server, as the handlers of the SDK ask it about one request."""

import re
from collections.abc import Mapping
from typing import Any, Final, cast

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
from mcp.shared.auth import InvalidRedirectUriError, OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from loci.core.errors import Refused
from loci.core.scopes import SCOPES, scopes_at
from loci.mcp.auth.consents import consents_of
from loci.mcp.auth.grants import ACCESS_SECONDS, AskedGrant, Tokens, grants_of
from loci.mcp.auth.oauth_client import OAuthClient, is_document
from loci.mcp.auth.oauth_clients import clients_of
from loci.mcp.http.application import path_of
from loci.mcp.module import Host
from loci.mcp.threads import THREADS, UPSTREAM, on_thread, on_thread_of
from loci.mcp.tool import SURFACES

CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
LONGEST_STATE: Final = 2048


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

    def __init__(self, host: Host, address: str, told: Mapping[str, Any]) -> None:
        """`address` is the sender's. `told` is what they sent, of which the SDK passes only a part on."""
        self._clients = clients_of(host)
        self._grants = grants_of(host)
        self._consents = consents_of(host)
        self._base = host.settings.base_url
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
