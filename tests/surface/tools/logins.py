"""A server that wants a login, and the person's way into it, for tests."""

from loci.app import App
from loci.core.identity import LOCAL
from loci.tools.login_records import LoginState
from tests.support.authorization_server import Protected, consent

REDIRECT = "http://127.0.0.1:7/callback"
"""Nobody listens there: the tests read the address."""


def add(app: App, server: Protected, **more: object) -> None:
    """Configure the server as `far`."""
    app.tools.add(LOCAL, "far", {"url": server.url, **more})


def log_in(app: App, scope: str | None = None) -> LoginState:
    """Log in at `far`."""
    begun = app.tools.logins.begin(LOCAL, "far", REDIRECT, scope=scope)
    return app.tools.logins.finish(LOCAL, begun, begun.request.read(consent(begun.request.url())))
