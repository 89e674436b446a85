"""The nouns of the gateway: a tool server, how it is reached, and the tools that it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from loci.core.json import JsonObject

SECONDS, AT_ONCE = 30.0, 16
"""The time that a call may take, and the calls that a server gets at once, if its settings say nothing else."""


@dataclass(frozen=True, slots=True)
class Program:
    """A server that Loci starts on this machine and talks to over its standard input and output."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    folder: str | None = None
    """Its working folder."""


class Bearer(Protocol):
    """The access token of a login, the same object as long as the login is the same: a connection outlives tokens."""

    @property
    def token(self) -> str:
        """As it is now: it is read at each request."""
        ...

    def renew(self, refused: str) -> None:
        """The server refuses this token: get another. Raises `LociError` if there is none to be had."""
        ...

    def advice(self, scopes: Sequence[str] = ()) -> str:
        """Advice to a person if the server wants another login, or one with these scopes too."""
        ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that is reached by Streamable HTTP."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    bearer: Bearer | None = field(default=None, repr=False)
    only_public: bool = False
    """True: by https at public addresses only."""


@dataclass(frozen=True, slots=True)
class ToolServer:
    """An upstream MCP server, as its owner configured it. Names of variables and secrets are filled in."""

    name: str
    reach: Program | Endpoint
    seconds: float = SECONDS
    at_once: int = AT_ONCE


@dataclass(frozen=True, slots=True)
class UpstreamTool:
    """A tool of a tool server. Everything in it was written by somebody else."""

    server: str
    name: str
    title: str | None
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None
    annotations: JsonObject
    """As the server gave them, by their wire names such as `readOnlyHint`."""

    @property
    def id(self) -> str:
        """Its id, such as `github:create_issue`."""
        return f"{self.server}:{self.name}"
