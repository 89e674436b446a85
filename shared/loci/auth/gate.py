"""Recognises callers: by API key, by access token, or as the person at this machine."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from mcp_types import INTERNAL_ERROR
from starlette.datastructures import Headers
from starlette.types import Scope

from loci.auth.api_keys import ACCESS
from loci.core.errors import Misconfigured, Refused
from loci.core.identity import LOCAL_CALLER, Caller
from loci.core.lazy import Lazy
from loci.core.settings import Settings
from loci.mcp.http.address import METADATA, asked_scopes, is_safe, public_base
from loci.mcp.http.peer import peer_of
from loci.mcp.http.refusal import Refusal
from loci.mcp.threads import on_thread

if TYPE_CHECKING:
    from loci.app import App
    from loci.auth.grants import Grants
    from loci.auth.issuer import AccessTokens

# A request through a proxy or a tunnel need not come from this machine. Most add `X-Forwarded-For`, but not all, and it
# can be turned off. What clients with tracing send is not among these: `x-ms-request-id`, `x-amzn-trace-id`.
FORWARDED = frozenset(
    {"via", "forwarded", "cdn-loop", "client-ip", "true-client-ip", "x-client-ip", "x-cluster-client-ip"}
    | {"x-proxyuser-ip", "x-real-ip", "x-remote-ip", "x-scheme", "surrogate-capability", "x-varnish"}
)
FORWARDED_BEGIN = (
    *("x-forwarded", "x-original-", "x-proxy-", "x-envoy-", "x-nginx-"),
    *("cf-", "cloudfront-", "x-amz-cf-", "fastly-", "akamai-", "x-azure-", "x-ms-proxy", "x-ms-forwarded-"),
    *("ngrok-", "tailscale-", "x-tailscale-", "x-tunnel-", "x-pagekite-", "fly-"),
)


class KeyNeeded(Refusal):
    """The refusal of a caller on this machine who may not be the person that needs no key."""

    def __init__(self, message: str) -> None:
        super().__init__(403, message)


class Gate:
    """Lets callers in. If it is open, a caller without a credential is the person at this machine."""

    def __init__(self, app: "App", *, is_open: bool) -> None:
        self._app = app
        self.is_open = is_open
        self._tokens: AccessTokens | None = None
        self._grants = Lazy(self._own_grants) if app.settings.oauth == "built-in" else None
        if app.settings.oidc_issuer:
            from loci.auth import issuer  # cryptography is loaded only if tokens are accepted

            self._tokens = issuer.AccessTokens(app.settings, time.monotonic)

    async def recognise(self, scope: Scope, headers: Headers) -> Caller:
        """Return the caller. Refuse a credential that is missing, wrong or not enough."""
        shown = _credential(scope, headers)
        if shown is None:
            if self.is_open and self._app.settings.auth == "open":
                return LOCAL_CALLER
            passed_on = _passed_on(headers) if self.is_open else None
            if self.is_open and passed_on is None:
                _check_peer(scope)
                return LOCAL_CALLER
            if passed_on is not None:
                what = f"A proxy or a tunnel passed this request on (it has the header {passed_on[:40]})"
                advice = "so it needs a key: make one with `loci keys create NAME`"
                raise self._unauthorised(scope, headers, f"{what}, {advice}", {})
            raise self._unauthorised(scope, headers, "Show an API key or an access token", {})
        if self._grants is not None and shown.startswith(ACCESS):
            return await self._by_grant(self._grants, scope, headers, shown)
        try:
            key = await on_thread(self._app.api_keys.with_text, shown)
        except Refused as error:  # it has expired
            what = f"{error.what}: {error.resolution}"
            raise self._unauthorised(scope, headers, what, {"error": "invalid_token"}) from None
        if key is not None:
            most = key.calls_per_month or self._app.settings.calls_per_month
            who = Caller(key.owner, "key", is_person=key.is_person, name=key.name, credential=key.id)
            return replace(who, calls_per_month=most)
        # OAuth 2.1 forbids a token in the query, where logs of proxies keep it: only keys may come there.
        if self._tokens is None or shown.startswith("loci_") or "authorization" not in headers:
            raise self._unauthorised(scope, headers, "This key is not valid here", {"error": "invalid_token"})
        return await self._by_token(self._tokens, scope, headers, shown)

    def _own_grants(self) -> "Grants":
        from loci.auth.grants import grants_of  # callers with keys need nothing of it

        return grants_of(self._app)

    async def _by_grant(self, grants: "Lazy[Grants]", scope: Scope, headers: Headers, token: str) -> Caller:
        if "authorization" not in headers:
            raise self._unauthorised(scope, headers, "Send this token as Authorization: Bearer", {})
        base = self._app.settings.base_url
        # A token for `/mcp` is good for its parts too.
        names = (f"{base}/mcp", f"{base}{scope['path'].rstrip('/')}")
        caller = await on_thread(grants.get().caller_of, token, names)
        if caller is None:
            what = "This access token has expired, was revoked, or is for another endpoint"
            raise self._unauthorised(scope, headers, what, {"error": "invalid_token"})
        return caller

    async def _by_token(self, tokens: "AccessTokens", scope: Scope, headers: Headers, token: str) -> Caller:
        from loci.auth.issuer import LONGEST_WAIT, BadToken, KeysUnderWay

        try:
            caller = await tokens.caller_of(token, scope["path"].rstrip("/"))
        except KeysUnderWay as error:
            what = f"{error.code}: The issuer's keys are being fetched. {error.resolution}"
            raise Refusal(503, what, code=INTERNAL_ERROR, headers={"Retry-After": str(LONGEST_WAIT)}) from None
        except BadToken as error:
            raise self._unauthorised(
                scope, headers, f"This access token is not valid here: {error}", {"error": "invalid_token"}
            ) from None
        missing = sorted(set(self._app.settings.oidc_scopes) - caller.scopes)
        if missing:
            challenge = self._challenge(scope, headers, {"error": "insufficient_scope"})
            raise Refusal(403, f"The token lacks the scope {' '.join(missing)}", headers=challenge)
        return caller

    def _unauthorised(self, scope: Scope, headers: Headers, message: str, parts: Mapping[str, str]) -> Refusal:
        return Refusal(401, message, headers=self._challenge(scope, headers, parts))

    def _challenge(self, scope: Scope, headers: Headers, parts: Mapping[str, str]) -> dict[str, str]:
        fields = {"realm": "loci", **parts}
        if self._tokens is not None or self._grants is not None:
            settings = self._app.settings
            base = settings.base_url if self._grants else public_base(settings, scope, headers)
            fields["resource_metadata"] = f"{base}{METADATA}{scope['path'].rstrip('/')}"
            if scopes := asked_scopes(settings, scope["path"]):
                fields["scope"] = " ".join(scopes)
        challenge = ", ".join(f'{name}="{value}"' for name, value in fields.items())
        return {"WWW-Authenticate": f"Bearer {challenge}", "Cache-Control": "no-store"}


def _check_peer(scope: Scope) -> None:
    """Refuse another user of this machine, and one whom the kernel does not show."""
    peer = peer_of(scope)
    if peer == "other":
        what = "Another user of this machine started Loci, so you need a key"
        raise KeyNeeded(f"{what}: ask them to make one with `loci keys create NAME`")
    if peer == "unseen":
        what = "Loci cannot see which user of this machine asks (as from outside a container, or from Windows to WSL)"
        raise KeyNeeded(f"{what}, so you need a key: make one with `loci keys create NAME`")


def _passed_on(headers: Headers) -> str | None:
    """The name of a header that a proxy or a tunnel added."""
    for name in headers:
        plain = name.replace("_", "-")
        if plain in FORWARDED or plain.startswith(FORWARDED_BEGIN):
            return name
    return None


def _credential(scope: Scope, headers: Headers) -> str | None:
    """The first credential of `Authorization: Bearer`, `X-API-Key` and `?apikey=`."""
    authorization = headers.get("authorization")
    if authorization is not None:
        scheme, _, value = authorization.partition(" ")
        return value.strip() if scheme.lower() == "bearer" else ""
    if (key := headers.get("x-api-key")) is not None:
        return key.strip()
    if scope["query_string"]:
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        keys = query.get("apikey", [])
        return keys[0] if len(keys) == 1 else "" if keys else None
    return None


def check_issuer(settings: Settings) -> None:
    """Raise `Misconfigured` if codes and tokens would travel in the open: only https and loopback are good."""
    if not is_safe(settings.base_url):
        what = f"oauth = built-in cannot serve {settings.base_url}: everybody on the way could read its tokens"
        raise Misconfigured(what, "Set public_url to the https address that clients use")


def check_sign_in(settings: Settings) -> None:
    """Raise `Misconfigured` if people could not sign in at the issuer, or not safely."""
    if not settings.oidc_client_id:
        return
    if not settings.oidc_issuer:
        raise Misconfigured("oidc_client_id names a client of no issuer", "Set oidc_issuer, too")
    if not is_safe(settings.base_url):
        what = f"Nobody can sign in safely at {settings.base_url}: everybody on the way could read the answers"
        raise Misconfigured(what, "Set public_url to the https address that people use")
