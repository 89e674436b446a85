"""The login that a server's entry asks for, and whom its owner trusts with it."""

import hashlib
from dataclasses import dataclass
from urllib.parse import urlsplit

from loci.tools.authorization import AuthorizationServer
from loci.tools.configuration import not_configured
from loci.tools.oauth_entry import OAuthEntry
from loci.tools.ports import LoginFailed
from loci.tools.tool_server import Endpoint

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The login that a server's entry asks for, with everything filled in."""

    name: str
    written: str
    """Its URL as the entry has it."""
    endpoint: Endpoint
    oauth: OAuthEntry

    @property
    def of(self) -> str:
        """Stands for the URL, which may be secret."""
        return hashlib.sha256(self.endpoint.url.encode()).hexdigest()


def canonical(url: str) -> str:
    """The URL as the name of a server: without its query, in which there may be a key."""
    return url.partition("#")[0].partition("?")[0]


def check_safe(wanted: Wanted) -> None:
    """Tokens must not be read on their way."""
    url = wanted.endpoint.url
    if not url.lower().startswith("https://") and not is_here(url):
        raise LoginFailed(f"{wanted.name} is not reached by https", "Correct its URL: anybody could read the token")


def check_trusted(wanted: Wanted, server: AuthorizationServer) -> None:
    """The tool server decides whom the secret is sent to, unless its owner does."""
    if wanted.oauth.issuer is None and _origin(server.token_url) != _origin(wanted.endpoint.url):
        advice = f"If you trust it with the secret, say so with --issuer {server.issuer}, or as issuer in its oauth"
        raise not_configured(wanted.name, f"its tokens are given out by {server.issuer}", advice)


def _origin(url: str) -> str:
    return "{0.scheme}://{0.netloc}".format(urlsplit(url)).lower()


def is_here(url: str) -> bool:
    return urlsplit(url).hostname in LOOPBACK
