"""The nouns of a login at a tool server: what its entry asks for, the person who consents, and what was given."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from loci.core.json import Json, JsonObject
from loci.tools.configuration import OAuthEntry
from loci.tools.tool_server import Endpoint


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


@dataclass(frozen=True, slots=True)
class Consent:
    """The consent of a person in a browser."""

    redirect: str
    """The address to which the browser brings the answer."""
    ask: Callable[[str, str], Mapping[str, str]]
    """Has the person open an address, which belongs to this issuer, and returns the fields of the answer."""


@dataclass(frozen=True, slots=True)
class Access:
    """Access to a tool server: the parts as the official client's models have them."""

    server: JsonObject = field(default_factory=dict[str, Json])
    """Who gives out the tokens, as it describes itself (RFC 8414). Not secret."""
    client: JsonObject = field(default_factory=dict[str, Json], repr=False)
    """Loci, as it is registered there (RFC 7591)."""
    resource: str = field(default="", repr=False)
    """The tool server's name there."""
    token: str = field(default="", repr=False)
    refresh: str | None = field(default=None, repr=False)
    seconds: float | None = None
    """How long the token is good; None: nobody knows."""
    scope: str | None = None
    only_public: bool = False
    """True: it is renewed by https at public addresses only, as the tool server is called."""
