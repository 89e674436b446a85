"""The nouns of the gateway: a tool server, how it is reached, and the tools that it has."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from loci.core.json import JsonObject

SECONDS, AT_ONCE = 30.0, 8
"""The time that a call may take, and the calls that a server gets at once, if its settings say nothing else."""


@dataclass(frozen=True, slots=True)
class Program:
    """A server that Loci starts on this machine and talks to over its standard input and output."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    folder: str | None = None
    """Its working folder."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that is reached by Streamable HTTP."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


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
