"""The head of a request: headers that come once, the hosts and origins that it may name, and the public address."""

import re
from urllib.parse import urlsplit

from mcp_types import HEADER_MISMATCH, INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.types import Scope

from loci.core.scopes import scopes_at
from loci.core.settings import Settings
from loci.mcp.http.refusal import SESSION, Refusal

HOST = re.compile(r"([\w.~-]+|\[[0-9A-Fa-f:.]+\])(:\d*)?", re.ASCII)
METADATA = "/.well-known/oauth-protected-resource"
# If one of these came twice, a proxy could read the first and Loci the second.
SINGLE = frozenset(
    {b"authorization", b"x-api-key", b"content-type", b"content-length", b"host", b"origin"}
    | {SESSION, b"mcp-protocol-version", b"mcp-method", b"mcp-name"}
)
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def check_single(scope: Scope) -> None:
    """Refuse a request that has one of the headers twice that matter here."""
    seen: set[bytes] = set()
    for name, _ in scope["headers"]:
        if name in seen:
            code = HEADER_MISMATCH if name.startswith(b"mcp-") else INVALID_REQUEST
            raise Refusal(400, f"The header {name.decode('latin-1')} came twice", code=code)
        if name in SINGLE:
            seen.add(name)


def public_base(settings: Settings, scope: Scope, headers: Headers) -> str:
    """Scheme and host as the client wrote them, unless the setting names them.

    A proxy on this machine may say that it was https.
    """
    if settings.public_url:
        return settings.public_url.rstrip("/")
    peer = (scope.get("client") or ("", 0))[0]
    is_behind_https = peer in ("127.0.0.1", "::1") and headers.get("x-forwarded-proto") == "https"
    scheme = "https" if is_behind_https else scope.get("scheme", "http")
    return f"{scheme}://{headers.get('host', 'localhost')}"


def is_safe(url: str) -> bool:
    """True if nobody on the way reads what is sent there: it is https, or on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in {*LOOPBACK, "::1"})


def is_open(settings: Settings, *, on_loopback: bool) -> bool:
    """True if a caller without a credential is the local person: only this machine can ask, and no auth is set."""
    # A public address in front of loopback belongs to a proxy.
    at_home = settings.public_url is None or _without_port(urlsplit(settings.public_url).netloc) in LOOPBACK
    signs_in = settings.oidc_issuer is not None or settings.oauth == "built-in"
    return settings.auth == "open" or (settings.auth == "auto" and on_loopback and at_home and not signs_in)


def asked_scopes(settings: Settings, path: str) -> tuple[str, ...]:
    """The scopes for which a client of the endpoint at this path should ask."""
    return scopes_at(path) if settings.oauth == "built-in" else settings.oidc_scopes


class Addresses:
    """Refuses requests that a web page could send behind its user's back (DNS rebinding, foreign origins)."""

    def __init__(self, settings: Settings, *, is_open: bool) -> None:
        self._public = public = urlsplit(settings.public_url or "")
        self._hosts = {*settings.allowed_hosts, public.netloc, f"{settings.host}:*"} - {""}
        self._origins = {*settings.allowed_origins, *([f"{public.scheme}://{public.netloc}"] if public.netloc else [])}
        # If callers must show a key, rebinding gains nothing: then any host will do, unless some are set.
        self._any_host = not is_open and not settings.allowed_hosts

    def is_own_page(self, headers: Headers) -> bool:
        """True if no page of another origin sent this: the browser says so, or names no origin but ours."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site == "same-origin":
            return True
        if site not in (None, "none"):  # none: no page did. But what an extension sends may name the extension
            return False
        # An origin is a scheme and a host. `urlsplit` would raise for what is none.
        return origin is None or origin.partition("://")[2] in {headers.get("host"), self._public.netloc} - {None, ""}

    def check(self, headers: Headers, *, has_pages: bool = False, is_page: bool = False) -> str | None:
        """Check host and origin. Return the origin, if it is another one's.

        `has_pages`: Loci's own pages come here, from the address that their browser knows. `is_page`: links of other
        sites may lead here, too.
        """
        host = headers.get("host", "")
        # It goes into links and into the challenge of a 401, between quotes.
        if host and not HOST.fullmatch(host):
            raise Refusal(400, "The Host header names no host")
        if not self._any_host and not self._is_known(host):
            raise Refusal(421, f"This server does not answer to the host {host[:100]!r}: see the setting allowed_hosts")
        if has_pages and self.is_own_page(headers):
            return None
        origin = headers.get("origin")
        if origin is None and comes_from_elsewhere(headers) and not (is_page and _is_link(headers)):
            raise Refusal(403, "A page of another site asked for this behind its user's back")
        if origin is None or self._is_welcome(origin, host):
            return origin
        raise Refusal(403, f"The origin {origin[:100]!r} is not allowed: see the setting allowed_origins")

    def _is_known(self, host: str) -> bool:
        name = _without_port(host)
        return name in LOOPBACK or host in self._hosts or f"{name}:*" in self._hosts

    def _is_welcome(self, origin: str, host: str) -> bool:
        if origin in self._origins or "*" in self._origins:
            return True
        # Another port is another program, whose pages may be anybody's.
        return self._is_known(host) and origin in (f"http://{host}", f"https://{host}")


def comes_from_elsewhere(headers: Headers) -> bool:
    """True if the browser says that another site led it here, or asks. Another port of this machine is one, too."""
    return headers.get("sec-fetch-site") in ("cross-site", "same-site")


def _is_link(headers: Headers) -> bool:
    """True if a person follows a link. A picture, a script or a frame in a page names no origin, too."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") in ("document", None)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
