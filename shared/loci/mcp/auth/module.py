"""The built-in authorization server, as a part of the server: its routes, if the setting `oauth` wants them."""

from urllib.parse import urlsplit

from starlette.types import ASGIApp

from loci.core.errors import Misconfigured
from loci.core.lazy import Lazy
from loci.core.settings import Settings
from loci.mcp.http.address import LOOPBACK
from loci.mcp.module import Host, Module, ModuleRoute

PATHS = (
    "/authorize",
    "/token",
    "/register",
    "/revoke",
    "/.well-known/oauth-authorization-server{rest:path}",
    "/.well-known/openid-configuration{rest:path}",
)


def oauth_module(host: Host) -> Module:
    """Nothing of it is loaded before its first request."""

    def endpoints() -> ASGIApp:
        from loci.mcp.auth.oauth_routes import OAuthEndpoints

        return OAuthEndpoints(host)

    if host.settings.oauth != "built-in":
        return Module(name="oauth")
    check_issuer(host.settings)
    made = Lazy(endpoints)
    return Module(name="oauth", routes=[ModuleRoute(path, lambda _: made.get()) for path in PATHS])


def check_issuer(settings: Settings) -> None:
    """Raise `Misconfigured` if codes and tokens would travel in the open: only https and loopback are good."""
    address = urlsplit(settings.base_url)
    if address.scheme != "https" and (address.hostname or "") not in {one.strip("[]") for one in LOOPBACK}:
        what = f"oauth = built-in cannot serve {settings.base_url}: everybody on the way could read its tokens"
        raise Misconfigured(what, "Set public_url to the https address that clients use")
