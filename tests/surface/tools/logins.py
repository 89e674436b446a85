"""A server that wants a login, and the person's way into it, for tests."""

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from loci.app import App
from loci.core.identity import LOCAL
from loci.gateway.logins import LoginState
from loci.gateway.ports import Consent
from tests.support.authorization_server import Protected, consent

REDIRECT = "http://127.0.0.1:7/callback"
"""Nobody listens there: the tests read the address."""


def allow(url: str, _: str = "") -> Mapping[str, str]:
    """Log in at this address, and allow what it asks."""
    return dict(parse_qsl(urlsplit(consent(url)).query))


CONSENT = Consent(REDIRECT, allow)


def add(app: App, server: Protected, **more: object) -> None:
    """Configure the server as `far`."""
    app.tools.add(LOCAL, "far", {"url": server.url, **more})


def log_in(app: App, scope: str | None = None) -> LoginState:
    """Log in at `far`."""
    return app.tools.log_in(LOCAL, "far", CONSENT, scope=scope)
