"""Access tokens of an OpenID Connect issuer."""

from collections.abc import Callable
from typing import Any, cast

import jwt

from loci.core.errors import Misconfigured
from loci.core.identity import Caller
from loci.core.settings import Settings
from loci.mcp.auth.issuer_tokens import BadToken, IssuerTokens
from loci.mcp.threads import on_thread


class AccessTokens:
    """Recognises callers by the tokens of one issuer."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        """The clock tells how old the issuer's keys are, so nobody may set it."""
        self._audience = settings.oidc_audience
        self._base = (settings.public_url or "").rstrip("/")
        if not self._audience and not self._base:
            raise Misconfigured("Tokens need an audience", "Set oidc_audience, or public_url")
        self._tokens = IssuerTokens(settings, clock)

    async def caller_of(self, token: str, path: str) -> Caller:
        """The caller that the token names, once everything about it is right at this endpoint."""
        key = await self._tokens.key_of(token)
        return await on_thread(self._checked, token, key, path)

    def _checked(self, token: str, key: jwt.PyJWK, path: str) -> Caller:
        # A client asks for a token for its endpoint. A token for `/mcp` is good for its parts too.
        claims = self._tokens.claims_of(token, key, self._audience or {f"{self._base}/mcp", f"{self._base}{path}"})
        if claims.get("token_use", "access") != "access":
            raise BadToken("it is not an access token")
        client = str(claims.get("azp") or claims.get("client_id") or "")
        return Caller(self._tokens.owner_of(claims), "token", _scopes(claims), float(claims["exp"]), name=client)


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    given = claims.get("scope", claims.get("scp", ""))
    if isinstance(given, str):
        return frozenset(given.split())
    return frozenset(str(one) for one in cast("list[object]", given)) if isinstance(given, list) else frozenset()
