"""The built-in authorization server, as a part of the server: its routes, if the setting `oauth` wants them."""

from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from loci.core.errors import Misconfigured
from loci.core.lazy import Lazy
from loci.core.settings import Settings
from loci.mcp.http.address import is_safe
from loci.mcp.module import Module, ModuleRoute

if TYPE_CHECKING:
    from loci.app import App

PATHS = (
    "/authorize",
    "/token",
    "/register",
    "/revoke",
    "/.well-known/oauth-authorization-server{rest:path}",
    "/.well-known/openid-configuration{rest:path}",
)


def oauth_module(app: "App") -> Module:
    """Nothing of it is loaded before its first request."""

    def endpoints() -> ASGIApp:
        from loci.auth.oauth_routes import OAuthEndpoints

        return OAuthEndpoints(app)

    check_sign_in(app.settings)
    if app.settings.oauth != "built-in":
        return Module("oauth")
    check_issuer(app.settings)
    made = Lazy(endpoints)
    return Module("oauth", routes=[ModuleRoute(path, lambda _: made.get()) for path in PATHS])


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
