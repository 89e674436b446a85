"""The built-in authorization server, as a part of the server: its routes, if the setting `oauth` wants them."""

from starlette.types import ASGIApp

from loci.core.lazy import Lazy
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

    made = Lazy(endpoints)
    paths = PATHS if host.settings.oauth == "built-in" else ()
    return Module(name="oauth", routes=[ModuleRoute(path, lambda _: made.get()) for path in paths])
