"""The built-in authorization server, as the SDK's routes ask it."""

import re
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, cast

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
from loci.mcp.auth.client_documents import is_document
from loci.mcp.auth.consents import Consents
from loci.mcp.auth.grants import ACCESS_SECONDS, Grants, Tokens
from loci.mcp.auth.oauth_client import OAuthClient
from loci.mcp.auth.oauth_clients import OAuthClients
from loci.mcp.auth.oauth_codes import AskedGrant, Codes
from loci.mcp.auth.oauth_forms import Wrong
from loci.mcp.auth.oauth_parts import clients_of, codes_of, consents_of, grants_of
from loci.mcp.http.application import path_of
from loci.mcp.module import Host
from loci.mcp.threads import THREADS, UPSTREAM, on_thread, on_thread_of
from loci.mcp.tool import SURFACES

CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
LONGEST_STATE: Final = 2048


@dataclass(frozen=True, slots=True)
class Sent:
    """The parts of a request that the SDK does not pass on."""

    address: str
    fields: Mapping[str, str]


SENT: ContextVar[Sent] = ContextVar("SENT")


class KnownClient(OAuthClientInformationFull):
    """A client, as the SDK checks its requests."""

    known: OAuthClient

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        """The address, if it is registered. Without one, the only one."""
        if redirect_uri is None:
            if len(self.known.redirects) == 1:
                return AnyUrl(self.known.redirects[0])
            raise InvalidRedirectUriError("Name the redirect_uri: this client has several")
        # As it came: the SDK has taken more out of it than the person who registered it meant.
        if not self.known.accepts(SENT.get().fields.get("redirect_uri", "")):
            raise InvalidRedirectUriError("This redirect_uri is not registered for the client")
        return redirect_uri


class AuthorizationServer(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Registers clients, sends people to the page that asks for consent, and gives tokens."""

    def __init__(
        self, clients: OAuthClients, grants: Grants, codes: Codes, consents: Consents, base: str, paths: Sequence[str]
    ) -> None:
        """`paths` are those of the endpoints, the usual one first."""
        self._clients = clients
        self._grants = grants
        self._codes = codes
        self._consents = consents
        self._base = base
        self._resources = [base + path for path in paths]

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        try:
            threads = UPSTREAM if is_document(client_id) else THREADS
            client = await on_thread_of(threads, self._clients.get, client_id, SENT.get().address)
        except Refused:  # a request for a consent has told why
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
        """Register a program. It gets no secret, whatever it asked for: a program on a person's machine keeps none."""
        # As the SDK spells the address that a request names.
        redirects = [str(AnyUrl(str(one))) for one in client_info.redirect_uris or ()]
        try:
            client = await on_thread(
                self._clients.register, client_info.client_name or "", redirects, SENT.get().address
            )
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
            client=cast("KnownClient", client).known.id,
            redirect=str(params.redirect_uri),
            named_redirect=params.redirect_uri_provided_explicitly,
            state=params.state,
            challenge=params.code_challenge,
            scopes=scopes,
            resource=resource,
        )
        return self._consents.page_for(asked)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        known = cast("KnownClient", client).known
        code = await on_thread(self._codes.get, authorization_code, known.id)
        if code is None:
            return None
        named = SENT.get().fields.get("redirect_uri")
        if (named is not None) != code.asked.named_redirect or named not in (None, code.asked.redirect):
            return None
        _check_resource(code.asked.resource)
        return AuthorizationCode(
            code=authorization_code,
            scopes=list(code.asked.scopes),
            expires_at=code.ends,
            client_id=known.id,
            code_challenge=code.asked.challenge,
            redirect_uri=AnyUrl(code.asked.redirect),
            redirect_uri_provided_explicitly=code.asked.named_redirect,
            resource=code.asked.resource,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        known = cast("KnownClient", client).known
        await on_thread(self._clients.keep, known)
        return _given(await on_thread(self._codes.exchange, authorization_code.code, known.id))

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        known = cast("KnownClient", client).known
        grant = await on_thread(self._grants.renewable, refresh_token, known.id)
        if grant is not None:
            _check_resource(grant.resource)
        return grant and RefreshToken(token=refresh_token, client_id=known.id, scopes=list(grant.scopes))

    async def exchange_refresh_token(
        self,
        client: OAuthClientInformationFull,
        refresh_token: RefreshToken,
        scopes: list[str],
    ) -> OAuthToken:
        await on_thread(self._clients.keep, cast("KnownClient", client).known)
        return _given(await on_thread(self._grants.renew, refresh_token.token, scopes))

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Any token, for its revocation: the gate recognises callers without the SDK."""
        found = await on_thread(self._grants.client_and_id, token)
        return found and AccessToken(token=token, client_id=found[0], scopes=[], expires_at=int(time.time()))

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """End the grant, and with it all its tokens."""
        if found := await on_thread(self._grants.client_and_id, token.token):
            await on_thread(self._grants.revoke, found[1])


def _check_resource(granted: str) -> None:
    """RFC 8707: a client may name the resource again, but no other one."""
    named = SENT.get().fields.get("resource")
    if named is not None and named.rstrip("/") != granted:
        raise Wrong("invalid_target", f"The person has allowed {granted}, and no other resource")


def _given(tokens: Tokens | None) -> OAuthToken:
    if tokens is None:
        raise TokenError("invalid_grant", "It was used by somebody else at the same time, or has ended")
    return OAuthToken(
        access_token=tokens.access,
        expires_in=ACCESS_SECONDS,
        scope=" ".join(tokens.scopes),
        refresh_token=tokens.renews,
    )


def authorization_server(host: Host) -> AuthorizationServer:
    """That of a deployment."""
    paths = [path_of(one) for one in SURFACES]
    parts = clients_of(host), grants_of(host), codes_of(host), consents_of(host)
    return AuthorizationServer(*parts, host.settings.base_url, paths)
