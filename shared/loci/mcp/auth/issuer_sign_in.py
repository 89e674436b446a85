"""Sign-in of people at the OpenID Connect issuer. Loci is its client: a code, with PKCE, state and nonce."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit

import jwt

from loci.core.errors import Refused, Unavailable
from loci.core.identity import Caller
from loci.core.json import JsonObject
from loci.core.settings import Settings
from loci.mcp.auth.issuer_keys import FRESH, discovered, document_at, is_safe
from loci.mcp.auth.issuer_tokens import BadToken, IssuerTokens
from loci.mcp.threads import UPSTREAM, on_thread, on_thread_of

REDIRECT: Final = "/ui/signed-in"
SECONDS: Final = 600
"""How long a person may take at the issuer."""
AGAIN: Final = "Sign in again"
LATER: Final = "Try again in a minute, or sign in with a key"
LONGEST_CODE: Final = 4096


class IssuerSignIn:
    """Sends people to the issuer, and recognises them when they come back."""

    def __init__(self, settings: Settings, secret: Callable[[], str | None]) -> None:
        """`secret` returns that of Loci at the issuer; None: it has none there."""
        self._issuer = str(settings.oidc_issuer)
        self._client = str(settings.oidc_client_id)
        self._redirect = settings.base_url + REDIRECT
        self._scopes = settings.oidc_scopes
        self._secret = secret
        self._tokens = IssuerTokens(settings, time.monotonic)
        self._turn = threading.Lock()
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
            key = await self._tokens.key_of(token)
            return await on_thread(self._checked, token, key, nonce)
        except BadToken as error:
            raise _refused(f"{self.host} names nobody: of its ID token, {error}") from None

    def _checked(self, token: str, key: jwt.PyJWK, nonce: str) -> Caller:
        claims = self._tokens.claims_of(token, key, self._client)
        if not secrets.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise BadToken("it belongs to another sign-in")
        party, audience = claims.get("azp"), claims["aud"]
        if party != self._client and (party is not None or (isinstance(audience, list) and audience != [self._client])):
            raise BadToken("it is for another client")
        if claims.get("token_use", "id") != "id":
            raise BadToken("it is no ID token")
        return Caller(self._tokens.owner_of(claims), "token")

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
                raise self._no(error) from None
        except (OSError, HTTPException, ValueError, RecursionError):
            raise Unavailable(f"{self.host} cannot be asked now", LATER) from None

    def _no(self, error: HTTPError) -> Exception:
        if error.code in (400, 401, 403):
            # Its own words stay out of the page: a forged code could choose them.
            known = _error_in(error) == "invalid_client"
            why = ": it does not know Loci by oidc_client_id and its secret" if known else ""
            return _refused(f"{self.host} does not accept this sign-in{why}")
        return Unavailable(f"{self.host} cannot be asked now", LATER)

    def _endpoint(self, document: dict[str, Any], name: str) -> str:
        where = document.get(name)
        if not isinstance(where, str) or not is_safe(where):
            raise Unavailable(f"{self.host} names no {name} over https", "Sign in with a key")
        return where

    def _document(self) -> dict[str, Any]:
        """The issuer's discovery document: one thread asks for it, and it stays good while nobody answers."""
        known = self._known
        if known is not None and time.monotonic() - known[0] < FRESH:
            return known[1]
        if self._turn.acquire(blocking=False):
            try:
                document = discovered(self._issuer)
                self._known = (time.monotonic(), document)
                return document
            except (OSError, HTTPException, ValueError, KeyError, RecursionError):
                pass
            finally:
                self._turn.release()
        if known is None:
            raise Unavailable(f"{self.host} cannot be asked now", LATER)
        return known[1]


def _error_in(error: HTTPError) -> str:
    try:
        told: object = json.loads(error.read(LONGEST_CODE))
    except (OSError, HTTPException, ValueError, RecursionError):
        return ""
    match told:
        case {"error": str(name)}:
            return name
        case _:
            return ""


def _refused(what: str) -> Refused:
    return Refused(what, AGAIN, code="SIGN_IN_FAILED")
