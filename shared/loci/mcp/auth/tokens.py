"""Access tokens of an OpenID Connect issuer."""

import json
import threading
import time
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import Any, cast
from urllib.parse import urlsplit

import jwt

from loci.core.errors import Misconfigured, Unavailable
from loci.core.identity import Caller, Owner
from loci.core.settings import Settings
from loci.mcp.http.address import LOOPBACK

ASYMMETRIC = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
LONGEST = 16 * 1024
LEEWAY = 60
FRESH = 600
COOLDOWN = 30
PATIENCE = 5
LARGEST_DOCUMENT = 1024 * 1024


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: nobody checked where it leads."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


STRAIGHT = urllib.request.build_opener(_NoRedirect)


class BadToken(Exception):
    """The reason why a token is not accepted. It holds nothing of the token."""


class AccessTokens:
    """Recognises callers by the tokens of one issuer."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
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

    def caller_of(self, token: str, path: str) -> Caller:
        """The caller that the token names, once everything about it is right at this endpoint."""
        if len(token) > LONGEST:
            raise BadToken("it is too long")
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in self._algorithms:
                raise BadToken("its algorithm is not accepted")
            claims = jwt.decode(
                token,
                self._keys.find(str(header.get("kid", ""))).key,
                algorithms=list(self._algorithms),
                # A client asks for a token for its endpoint. A token for `/mcp` is good for its parts too.
                audience=self._audience or {f"{self._base}/mcp", f"{self._base}{path}"},
                issuer=self._issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iat", "sub", "iss", "aud"]},
            )
        except TypeError:  # PyJWT raises it if the key does not fit the algorithm
            raise BadToken("its algorithm is not its key's") from None
        except jwt.PyJWTError as error:
            raise BadToken(type(error).__name__.removesuffix("Error")) from None
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


class IssuerKeys:
    """The issuer's public keys, fetched when needed, kept when the issuer cannot be reached."""

    def __init__(self, issuer: str, url: str | None, clock: Callable[[], float]) -> None:
        self._issuer = issuer
        self._url = url
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._tried_at = float("-inf")

    def find(self, kid: str) -> jwt.PyJWK:
        """The key with that id. An unknown id fetches the keys again, but not at every request."""
        known = self._keys.get(kid)
        # While one thread asks the issuer, threads that have a key need not wait.
        if known is not None and self._age() <= FRESH:
            return known
        if not self._lock.acquire(timeout=PATIENCE):
            raise Unavailable(f"The keys of {self._issuer} take long to come", "Try again in a minute")
        try:
            if self._age() > (FRESH if kid in self._keys else COOLDOWN):
                self._fetch()
            if not self._keys:
                raise Unavailable(f"The keys of {self._issuer} cannot be fetched", "Try again in a minute")
            if kid not in self._keys:
                raise BadToken("its key is unknown")
            return self._keys[kid]
        finally:
            self._lock.release()

    def _age(self) -> float:
        return self._clock() - self._tried_at

    def _fetch(self) -> None:
        self._tried_at = self._clock()
        try:
            url = self._url or self._discovered()
            keys = jwt.PyJWKSet.from_dict(_document(url)).keys
        except (OSError, HTTPException, ValueError, KeyError, RecursionError, jwt.PyJWTError):
            return  # the known keys stay valid
        self._keys = {key.key_id or "": key for key in keys}

    def _discovered(self) -> str:
        document = _document(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        if document["issuer"] != self._issuer:
            raise ValueError("the discovery document is of another issuer")
        return str(document["jwks_uri"])


def _document(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in {*LOOPBACK, "::1"}):
        raise ValueError("keys are fetched over https only")
    with STRAIGHT.open(url, timeout=PATIENCE) as answer:
        document = json.loads(_all_bytes(answer))
    if not isinstance(document, dict):
        raise ValueError("the document is no object")
    return cast("dict[str, Any]", document)


def _all_bytes(answer: Any) -> bytes:
    """Read the body, if it comes soon enough: the timeout above holds for each piece."""
    parts: list[bytes] = []
    until = time.monotonic() + PATIENCE
    while part := answer.read1(LARGEST_DOCUMENT):
        parts.append(part)
        if time.monotonic() > until or sum(map(len, parts)) > LARGEST_DOCUMENT:
            raise OSError("the issuer's document is too slow or too large")
    return b"".join(parts)


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    given = claims.get("scope", claims.get("scp", ""))
    if isinstance(given, str):
        return frozenset(given.split())
    return frozenset(str(one) for one in cast("list[object]", given)) if isinstance(given, list) else frozenset()
