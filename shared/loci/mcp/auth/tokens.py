"""Access tokens of an OpenID Connect issuer."""

from collections.abc import Callable
from typing import Any, cast

import jwt

from loci.core.errors import Misconfigured
from loci.core.identity import Caller, Owner
from loci.core.settings import Settings
from loci.mcp.auth.issuer_keys import IssuerKeys
from loci.mcp.threads import on_thread

ASYMMETRIC = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
LONGEST = 16 * 1024
LEEWAY = 60


class BadToken(Exception):
    """The reason why a token is not accepted. It holds nothing of the token."""


class AccessTokens:
    """Recognises callers by the tokens of one issuer."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        """The clock tells how old the issuer's keys are, so nobody may set it."""
        self._issuer = str(settings.oidc_issuer)
        self._audience = settings.oidc_audience
        self._base = (settings.public_url or "").rstrip("/")
        self._algorithms = settings.oidc_algorithms
        self._tenant_claim = settings.oidc_tenant_claim
        if not self._audience and not self._base:
            raise Misconfigured("Tokens need an audience", "Set oidc_audience, or public_url")
        if weak := set(self._algorithms) - ASYMMETRIC:
            raise Misconfigured(
                f"oidc_algorithms names {', '.join(sorted(weak))}", f"Use some of {', '.join(sorted(ASYMMETRIC))}"
            )
        self._keys = IssuerKeys(self._issuer, settings.oidc_jwks_url, clock)

    async def caller_of(self, token: str, path: str) -> Caller:
        """The caller that the token names, once everything about it is right at this endpoint."""
        if len(token) > LONGEST:
            raise BadToken("it is too long")
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, RecursionError) as error:
            raise _bad(error) from None
        if header.get("alg") not in self._algorithms:
            raise BadToken("its algorithm is not accepted")
        key = await self._keys.find(str(header.get("kid", "")))
        if key is None:
            raise BadToken("its key is unknown")
        return await on_thread(self._checked, token, key, path)

    def _checked(self, token: str, key: jwt.PyJWK, path: str) -> Caller:
        try:
            claims = jwt.decode(
                token,
                key.key,
                algorithms=list(self._algorithms),
                # A client asks for a token for its endpoint. A token for `/mcp` is good for its parts too.
                audience=self._audience or {f"{self._base}/mcp", f"{self._base}{path}"},
                issuer=self._issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iat", "sub", "iss", "aud"]},
            )
        except TypeError:  # PyJWT raises it if the key does not fit the algorithm
            raise BadToken("its algorithm is not its key's") from None
        except (jwt.PyJWTError, RecursionError) as error:
            raise _bad(error) from None
        if claims.get("token_use", "access") != "access":
            raise BadToken("it is not an access token")
        try:
            owner = Owner(self._tenant(claims), str(claims["sub"]))
            return Caller(owner, "token", _scopes(claims), float(claims["exp"]))
        except ValueError:
            raise BadToken("its subject or its tenant cannot be used") from None

    def _tenant(self, claims: dict[str, Any]) -> str:
        tenant = claims.get(self._tenant_claim) if self._tenant_claim else self._issuer
        if not isinstance(tenant, str) or not tenant:
            raise BadToken("it names no tenant")
        return tenant


def _bad(error: Exception) -> BadToken:
    return BadToken(type(error).__name__.removesuffix("Error"))


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    given = claims.get("scope", claims.get("scp", ""))
    if isinstance(given, str):
        return frozenset(given.split())
    return frozenset(str(one) for one in cast("list[object]", given)) if isinstance(given, list) else frozenset()
