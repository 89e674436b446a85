"""`AuthorizationServers` where none is reached: only the function `connect` reaches other people's servers."""

from collections.abc import Mapping

from loci.tools.authorization import AuthorizationServer, OAuthClient, Protection, Tokens
from loci.tools.ports import LoginFailed
from loci.tools.tool_server import Endpoint


class NoLogins:
    """Refuses. What is stored of a login can still be read and forgotten."""

    def protection(self, endpoint: Endpoint, issuer: str | None, scope: str | None) -> Protection:  # noqa: ARG002
        raise _none()

    def register(self, server: AuthorizationServer, redirect: str, scope: str | None) -> OAuthClient:  # noqa: ARG002
        raise _none()

    def tokens(self, server: AuthorizationServer, client: OAuthClient, form: Mapping[str, str]) -> Tokens:  # noqa: ARG002
        raise _none()

    def revoke(self, server: AuthorizationServer, client: OAuthClient, token: str) -> None:  # noqa: ARG002
        raise _none()


def _none() -> LoginFailed:
    return LoginFailed("Logins at tool servers cannot be made on AWS yet", "Use a token or client credentials")
