"""The tokens of an authorization server for tests, in memory."""

import secrets
import time
from dataclasses import dataclass, field

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken


@dataclass
class Tokens(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Gives out tokens to whoever asks, rotates refresh tokens, and ends a login whose old one is used again."""

    issuer: str
    lifetime: int = 3600
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict[str, OAuthClientInformationFull])
    codes: dict[str, AuthorizationCode] = field(default_factory=dict[str, AuthorizationCode])
    access: dict[str, AccessToken] = field(default_factory=dict[str, AccessToken])
    refresh: dict[str, RefreshToken] = field(default_factory=dict[str, RefreshToken])
    used: set[str] = field(default_factory=set[str])
    renewals: int = 0
    reused: int = 0
    denies: bool = False
    iss: str | None = None
    """What it calls itself in answers; None: its name."""

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        answer = {"state": params.state, "iss": self.iss or self.issuer}
        if self.denies:
            return construct_redirect_uri(str(params.redirect_uri), error="access_denied", **answer)
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, **answer)

    async def load_authorization_code(
        self,
        client: OAuthClientInformationFull,  # noqa: ARG002
        authorization_code: str,
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.given(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self,
        client: OAuthClientInformationFull,  # noqa: ARG002
        refresh_token: str,
    ) -> RefreshToken | None:
        if refresh_token in self.used:
            self.reused += 1
            self.access.clear()
            self.refresh.clear()
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.renewals += 1
        self.used.add(refresh_token.token)
        del self.refresh[refresh_token.token]
        return self.given(client.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:  # noqa: ARG002
        self.access.clear()
        self.refresh.clear()

    def given(self, client: str, scopes: list[str], resource: str | None, *, renews: bool = True) -> OAuthToken:
        ends = int(time.time()) + self.lifetime
        one, other = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self.access[one] = AccessToken(
            token=one, client_id=client, scopes=scopes, expires_at=ends, resource=resource, subject="ann"
        )
        if renews:
            self.refresh[other] = RefreshToken(token=other, client_id=client, scopes=scopes, resource=resource)
        return OAuthToken(
            access_token=one,
            expires_in=self.lifetime,
            scope=" ".join(scopes) or None,
            refresh_token=other if renews else None,
        )
