"""The nouns of OAuth: who gives out tokens for a tool server, Loci as its client, and the tokens."""

from dataclasses import dataclass, field
from typing import Literal

ClientMethod = Literal["none", "client_secret_basic", "client_secret_post"]
METHODS: tuple[ClientMethod, ...] = ("none", "client_secret_post", "client_secret_basic")
"""How a client says who it is: the first that a server knows is used. Some revoke only with the secret in the body."""


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """Gives out tokens. As its metadata describes it."""

    issuer: str
    token_url: str
    authorize_url: str | None = None
    registration_url: str | None = None
    revocation_url: str | None = None
    methods: tuple[str, ...] = ()
    has_pkce: bool = False
    names_itself: bool = False
    """True: it says its name in each answer to a login (RFC 9207)."""
    only_public: bool = False
    """True: it is asked by https at public addresses only, as the tool server is."""


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """Loci, as an authorization server knows it."""

    id: str
    secret: str | None = field(default=None, repr=False)
    method: ClientMethod = "none"


@dataclass(frozen=True, slots=True)
class Protection:
    """How a tool server is protected: who gives out its tokens, its name there, and what it wants to be asked for."""

    server: AuthorizationServer
    resource: str
    scope: str | None


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens that an authorization server gave."""

    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)
    seconds: float | None = None
    """How long the access token is good; None: nobody knows."""
    scope: str | None = None


def known_method(name: object) -> ClientMethod | None:
    """The method of this name; None if it is no name of one that Loci knows."""
    return next((one for one in METHODS if one == name), None)


def client_of(server: AuthorizationServer, id: str, secret: str | None) -> OAuthClient:
    """A client that was registered by hand, as this server wants it to say who it is."""
    if not secret:
        return OAuthClient(id)
    # Some servers do not say which they know, such as GitHub, which reads the secret in the body.
    only_basic = "client_secret_basic" in server.methods and "client_secret_post" not in server.methods
    return OAuthClient(id, secret, "client_secret_basic" if only_basic else "client_secret_post")
