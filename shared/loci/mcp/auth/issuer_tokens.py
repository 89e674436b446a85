"""Tokens of an OpenID Connect issuer: their keys, what they say, and the owner whom they name."""

from collections.abc import Callable, Iterable
from typing import Any

import jwt

from loci.core.errors import Misconfigured
from loci.core.identity import Owner
from loci.core.settings import Settings
from loci.mcp.auth.issuer_keys import IssuerKeys

ASYMMETRIC = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
LONGEST = 16 * 1024
LEEWAY = 60


class BadToken(Exception):
    """The reason why a token is not accepted. It holds nothing of the token."""


class IssuerTokens:
    """Checks what all tokens of one issuer have in common."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        """The clock tells how old the issuer's keys are, so nobody may set it."""
        self._issuer = str(settings.oidc_issuer)
        self._algorithms = settings.oidc_algorithms
        self._tenant_claim = settings.oidc_tenant_claim
        if weak := set(self._algorithms) - ASYMMETRIC:
            raise Misconfigured(
                f"oidc_algorithms names {', '.join(sorted(weak))}", f"Use some of {', '.join(sorted(ASYMMETRIC))}"
            )
        self._keys = IssuerKeys(self._issuer, settings.oidc_jwks_url, clock)

    async def key_of(self, token: str) -> jwt.PyJWK:
        """The issuer's key with which the token says that it is signed."""
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
        return key

    def claims_of(self, token: str, key: jwt.PyJWK, audience: str | Iterable[str]) -> dict[str, Any]:
        """The token's claims, once signature, issuer, audience and dates are right."""
        try:
            return jwt.decode(
                token,
                key.key,
                algorithms=list(self._algorithms),
                audience=audience,
                issuer=self._issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iat", "sub", "iss", "aud"]},
            )
        except TypeError:  # PyJWT raises it if the key does not fit the algorithm
            raise BadToken("its algorithm is not its key's") from None
        except (jwt.PyJWTError, RecursionError) as error:
            raise _bad(error) from None

    def owner_of(self, claims: dict[str, Any]) -> Owner:
        """The owner whom it names."""
        tenant = claims.get(self._tenant_claim) if self._tenant_claim else self._issuer
        if not isinstance(tenant, str) or not tenant:
            raise BadToken("it names no tenant")
        try:
            return Owner(tenant, str(claims["sub"]))
        except ValueError:
            raise BadToken("its subject or its tenant cannot be used") from None


def _bad(error: Exception) -> BadToken:
    return BadToken(type(error).__name__.removesuffix("Error"))
