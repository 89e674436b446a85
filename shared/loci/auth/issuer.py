"""An OpenID Connect issuer: callers who show its access tokens, and people who sign in there.

Loci is a client of the issuer for the sign-in: a code, with PKCE, state and nonce.
"""

import asyncio
import base64
import hashlib
import json
import secrets
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from http.client import HTTPException
from typing import Any, Final, cast
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit

import jwt

from loci.core.errors import Misconfigured, Refused, Unavailable
from loci.core.identity import Caller, Owner
from loci.core.json import JsonObject
from loci.core.settings import Settings
from loci.mcp.http.address import is_safe
from loci.mcp.threads import UPSTREAM, on_thread, on_thread_of

FRESH = 600
COOLDOWN = 30
PATIENCE = 5
"""Seconds that the issuer has for each piece of an answer."""
LONGEST_WAIT = 5
"""Seconds that a request waits for the keys."""
LARGEST_DOCUMENT = 1024 * 1024
ASYMMETRIC: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""The algorithms with which a token may be signed: with a shared secret, who checks tokens could write them, too."""
LONGEST_TOKEN: Final = 16 * 1024
LEEWAY: Final = 60
REDIRECT: Final = "/ui/signed-in"
SIGN_IN_SECONDS: Final = 600
"""The time that a person may take at the issuer."""
LATER: Final = "Try again in a minute, or sign in with a key"
LONGEST_CODE: Final = 4096
NOT_ASKED: Final = (OSError, HTTPException, ValueError, KeyError, RecursionError)
"""The errors with which a question to the issuer fails."""


class BadToken(Exception):
    """The reason why a token is not accepted. It holds nothing of the token."""


class KeysUnderWay(Unavailable):
    """The error while another request fetches the issuer's keys."""


class IssuerTokens:
    """Checks what all tokens of one issuer have in common.

    Its keys are fetched when needed, and kept when it cannot be reached. One thread at a time fetches them. The request
    that started it waits on the event loop; others use the keys that are known, or come again.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        """The clock tells how old the issuer's keys are, so nobody may set it."""
        self._issuer = str(settings.oidc_issuer)
        self._tenant_claim = settings.oidc_tenant_claim
        self._clock = clock
        self._turn = threading.Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._tried_at = float("-inf")
        self._is_fetching = False

    async def key_of(self, token: str) -> jwt.PyJWK:
        """The issuer's key with which the token says that it is signed."""
        if len(token) > LONGEST_TOKEN:
            raise BadToken("it is too long")
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, RecursionError) as error:
            raise _bad(error) from None
        if str(header.get("alg")) not in ASYMMETRIC:
            raise BadToken("its algorithm is not accepted")
        key = await self._key(str(header.get("kid", "")))
        if key is None:
            raise BadToken("its key is unknown")
        return key

    def claims_of(self, token: str, key: jwt.PyJWK, audience: str | Iterable[str]) -> dict[str, Any]:
        """The token's claims, once signature, issuer, audience and dates are right."""
        try:
            return jwt.decode(
                token,
                key.key,
                algorithms=list(ASYMMETRIC),
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

    async def _key(self, id: str) -> jwt.PyJWK | None:
        """The key with that id; None if the issuer has none. An unknown id fetches the keys, but not each time."""
        known = self._keys.get(id)
        begun = self._begin(COOLDOWN if known is None else FRESH)
        if begun is not None:
            fetched = asyncio.wrap_future(begun)
            await asyncio.wait({fetched}, timeout=LONGEST_WAIT)
            if known is None and not fetched.done():
                raise self._unreachable("take long to come")
        elif known is None and self._is_fetching:
            raise KeysUnderWay(f"The keys of {self._issuer} are being fetched", "Try again in a few seconds")
        if not self._keys:
            raise self._unreachable("cannot be fetched")
        return self._keys.get(id)

    def _begin(self, oldest: float) -> "Future[None] | None":
        """Start to fetch the keys if they are older than that, and nobody fetches them."""
        with self._turn:
            if self._is_fetching or self._clock() - self._tried_at <= oldest:
                return None
            self._tried_at = self._clock()
            self._is_fetching = True
        return UPSTREAM.submit(self._fetch)

    def _fetch(self) -> None:
        try:
            keys = jwt.PyJWKSet.from_dict(document_at(str(discovered(self._issuer)["jwks_uri"]))).keys
            self._keys = {key.key_id or "": key for key in keys}
        except (*NOT_ASKED, jwt.PyJWTError):
            pass  # the known keys stay valid
        finally:
            self._is_fetching = False

    def _unreachable(self, why: str) -> Unavailable:
        return Unavailable(f"The keys of {self._issuer} {why}", "Try again in a minute")


class AccessTokens(IssuerTokens):
    """Recognises callers by the tokens of one issuer."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        super().__init__(settings, clock)
        self._audience = settings.oidc_audience
        self._base = (settings.public_url or "").rstrip("/")
        if not self._audience and not self._base:
            raise Misconfigured("Tokens need an audience", "Set oidc_audience, or public_url")

    async def caller_of(self, token: str, path: str) -> Caller:
        """The caller that the token names, once everything about it is right at this endpoint."""
        return await on_thread(self._checked, token, await self.key_of(token), path)

    def _checked(self, token: str, key: jwt.PyJWK, path: str) -> Caller:
        # A client asks for a token for its endpoint. A token for `/mcp` is good for its parts too.
        claims = self.claims_of(token, key, self._audience or {f"{self._base}/mcp", f"{self._base}{path}"})
        if claims.get("token_use", "access") != "access":
            raise BadToken("it is not an access token")
        client = str(claims.get("azp") or claims.get("client_id") or "")
        return Caller(self.owner_of(claims), "token", _scopes(claims), float(claims["exp"]), name=client)


class IssuerSignIn(IssuerTokens):
    """Sends people to the issuer, and recognises them when they come back."""

    def __init__(self, settings: Settings, secret: Callable[[], str | None]) -> None:
        """`secret` returns that of Loci at the issuer; None: it has none there."""
        super().__init__(settings, time.monotonic)
        self._client = str(settings.oidc_client_id)
        self._redirect = settings.base_url + REDIRECT
        self._scopes = settings.oidc_scopes
        self._secret = secret
        self._known: tuple[float, dict[str, Any]] | None = None

    @property
    def host(self) -> str:
        """The issuer, as people know it."""
        return urlsplit(self._issuer).netloc

    async def begin(self) -> tuple[str, JsonObject]:
        """The address to which the browser goes, and what it keeps until it comes back."""
        document = await on_thread_of(UPSTREAM, self._document)
        kept = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
        digest = hashlib.sha256(kept["verifier"].encode()).digest()
        fields = {
            "response_type": "code",
            "client_id": self._client,
            "redirect_uri": self._redirect,
            "scope": " ".join(dict.fromkeys(("openid", *self._scopes))),
            "state": kept["state"],
            "nonce": kept["nonce"],
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        where = self._endpoint(document, "authorization_endpoint")
        return f"{where}{'&' if '?' in where else '?'}{urlencode(fields)}", {**kept}

    async def end(self, kept: Mapping[str, str], fields: Mapping[str, str]) -> Caller:
        """The person who comes back with these fields. Raises `Refused` if this is no answer to this browser."""
        if not secrets.compare_digest(fields.get("state", "").encode(), kept["state"].encode()):
            raise _refused("This answer belongs to another sign-in")
        document = await on_thread_of(UPSTREAM, self._document)
        named = fields.get("iss")
        names_itself = document.get("authorization_response_iss_parameter_supported") is True
        if named != self._issuer and (named is not None or names_itself):
            raise _refused(f"This answer does not come from {self.host}, which was asked")
        code = fields.get("code", "")
        if "error" in fields or not 0 < len(code) <= LONGEST_CODE:
            raise _refused(f"{self.host} did not sign you in")
        answer = await on_thread_of(UPSTREAM, self._exchange, document, code, kept["verifier"])
        granted = answer.get("scope")
        # Without a list, all that was asked for is granted (RFC 6749, 5.1).
        if isinstance(granted, str) and (missing := set(self._scopes) - set(granted.split())):
            raise _refused(f"{self.host} does not allow you {' '.join(sorted(missing))}")
        return await self._person(str(answer.get("id_token", "")), kept["nonce"])

    async def _person(self, token: str, nonce: str) -> Caller:
        try:
            return await on_thread(self._checked, token, await self.key_of(token), nonce)
        except BadToken as error:
            raise _refused(f"{self.host} names nobody: of its ID token, {error}") from None

    def _checked(self, token: str, key: jwt.PyJWK, nonce: str) -> Caller:
        claims = self.claims_of(token, key, self._client)
        if not secrets.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise BadToken("it belongs to another sign-in")
        party, audience = claims.get("azp"), claims["aud"]
        if party != self._client and (party is not None or (isinstance(audience, list) and audience != [self._client])):
            raise BadToken("it is for another client")
        if claims.get("token_use", "id") != "id":
            raise BadToken("it is no ID token")
        return Caller(self.owner_of(claims), "token")

    def _exchange(self, document: dict[str, Any], code: str, verifier: str) -> dict[str, Any]:
        """The issuer's answer to the code."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect,
            "code_verifier": verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if (secret := self._secret()) is None:
            form["client_id"] = self._client
        elif "client_secret_basic" in document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"]):
            both = f"{quote(self._client, safe='')}:{quote(secret, safe='')}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(both).decode()}"
        else:
            form |= {"client_id": self._client, "client_secret": secret}
        try:
            return document_at(self._endpoint(document, "token_endpoint"), urlencode(form).encode(), headers)
        except HTTPError as error:
            with error:
                if error.code not in (400, 401, 403):
                    raise Unavailable(f"{self.host} cannot be asked now", LATER) from None
                # Its own words stay out of the page: a forged code could choose them.
                is_unknown = _error_in(error) == "invalid_client"
                why = ": it does not know Loci by oidc_client_id and its secret" if is_unknown else ""
                raise _refused(f"{self.host} does not accept this sign-in{why}") from None
        except NOT_ASKED:
            raise Unavailable(f"{self.host} cannot be asked now", LATER) from None

    def _endpoint(self, document: dict[str, Any], name: str) -> str:
        where = document.get(name)
        if not isinstance(where, str) or not is_safe(where):
            raise Unavailable(f"{self.host} names no {name} over https", "Sign in with a key")
        return where

    def _document(self) -> dict[str, Any]:
        """The issuer's discovery document. It stays good while nobody answers."""
        known = self._known
        if known is None or time.monotonic() - known[0] >= FRESH:
            try:
                self._known = known = (time.monotonic(), discovered(self._issuer))
            except NOT_ASKED:
                if known is None:
                    raise Unavailable(f"{self.host} cannot be asked now", LATER) from None
        return known[1]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: nobody checked where it leads."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


STRAIGHT = urllib.request.build_opener(_NoRedirect)


def discovered(issuer: str) -> dict[str, Any]:
    """The issuer's discovery document."""
    document = document_at(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if document["issuer"] != issuer:
        raise ValueError("the discovery document is of another issuer")
    return document


def document_at(url: str, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The JSON object there, or the answer to a form that is posted there."""
    if not is_safe(url):
        raise ValueError("an issuer is asked over https only")
    request = urllib.request.Request(url, form, {"Accept": "application/json", **(headers or {})})  # noqa: S310 (checked above)
    with STRAIGHT.open(request, timeout=PATIENCE) as answer:
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


def _bad(error: Exception) -> BadToken:
    return BadToken(type(error).__name__.removesuffix("Error"))


def _error_in(error: HTTPError) -> str:
    try:
        told: object = json.loads(error.read(LONGEST_CODE))
    except NOT_ASKED:
        return ""
    match told:
        case {"error": str(name)}:
            return name
        case _:
            return ""


def _refused(what: str) -> Refused:
    return Refused(what, "Sign in again", code="SIGN_IN_FAILED")
