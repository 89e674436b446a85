"""Tools: the one door. MCP tools, commands and pages call these methods and nothing behind them."""

from collections.abc import Sequence
from dataclasses import dataclass

from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.tools.capabilities.capability import Capability
from loci.tools.capabilities.learning import EndedRun, Learning
from loci.tools.capabilities.matching import FoundCapabilities, FoundCapability, Matched, Matching
from loci.tools.capabilities.shelf import Shelf
from loci.tools.discovery import Discovery, FoundTools
from loci.tools.gateway import Gateway, Progress
from loci.tools.ports import ToolServers
from loci.tools.result_value import value_of
from loci.tools.tool_list import Configured, ToolList
from loci.tools.tool_search import KnownTool
from loci.tools.usage import Usage

CLOSING = 2.0
"""Seconds that the end of the server waits for what it learns."""


@dataclass(frozen=True, slots=True)
class ToolParts:
    """Everything that `Tools` is made of."""

    tool_list: ToolList
    gateway: Gateway
    servers: ToolServers
    discovery: Discovery
    usage: Usage
    shelf: Shelf
    matching: Matching
    learning: Learning


class Tools:
    """Every owner's tool servers, and the calls of their tools."""

    def __init__(self, parts: ToolParts) -> None:
        self.parts = parts

    def servers(self, owner: Owner) -> list[Configured]:
        """The configured servers with the tools that they listed last."""
        return self.parts.tool_list.all(owner)

    def add(self, owner: Owner, name: str, entry: object) -> Configured:
        """Configure a server by an entry of `mcpServers`, or configure it anew."""
        return self.parts.tool_list.put(owner, name, entry)

    def remove(self, owner: Owner, name: str) -> None:
        """Forget a server."""
        self.parts.tool_list.remove(owner, name)

    def get(self, owner: Owner, name: str) -> Configured:
        """The server with this name. Raises `NotFound` if there is none."""
        return self.parts.tool_list.get(owner, name)

    def ask(self, owner: Owner, name: str) -> Configured:
        """Ask a server for its tools now. Raises `LociError` if it fails."""
        return self.parts.tool_list.ask(owner, name)

    def search(
        self,
        owner: Owner,
        query: str,
        own: Sequence[KnownTool],
        *,
        limit: int,
        related: bool = False,
        context: Sequence[str] = (),
    ) -> FoundTools:
        """The tools that fit the query, among those of all servers and these of Loci.

        `related`: also those that are used after them. `context`: what was used already.
        """
        servers = self.servers(owner)
        return self.parts.discovery.find(owner, query, servers, own, limit=limit, related=related, context=context)

    def call(
        self, owner: Owner, tool: str, arguments: JsonObject, *, progress: Progress | None = None
    ) -> tuple[str, JsonObject]:
        """Call a tool; return its id, and its result as the protocol has it."""
        called, result = self.parts.gateway.call(owner, tool, arguments, progress=progress)
        return called.id, result

    def value(self, owner: Owner, tool: str, arguments: JsonObject) -> Json:
        """Call a tool, and return the plain value of its result. Raises `Refused` if the result is an error."""
        return value_of(*self.parts.gateway.call(owner, tool, arguments))

    def run_ended(self, owner: Owner, run: EndedRun) -> None:
        """Learn from a run of code, later: the call does not wait."""
        self.parts.learning.ended(owner, run)

    def finish_learning(self) -> None:
        """Wait until all runs so far are learned from: the process may end."""
        self.parts.learning.finish()

    def capabilities(self, owner: Owner) -> list[Capability]:
        """All capabilities."""
        return self.parts.shelf.all(owner)

    def find_capabilities(self, owner: Owner, intent: str, *, suggestions: bool = False) -> FoundCapabilities:
        """The capabilities that fit an intent, or the one with this id. With `suggestions`, also related ones."""
        return self.parts.matching.find(owner, intent, suggestions=suggestions)

    def capability(self, owner: Owner, id: str) -> FoundCapability:
        """The capability with this id, or that version of it. Raises `NotFound` if there is none."""
        return self.parts.matching.by_id(owner, id)

    def fitting_capability(self, owner: Owner, intent: str) -> Matched | None:
        """The proven capability that fits the intent well. None if none does."""
        return self.parts.matching.fits_well(owner, intent)

    def delete_capability(self, owner: Owner, id: str) -> Capability:
        """Forget a capability with all its versions. Raises `NotFound` if there is none."""
        return self.parts.shelf.remove(owner, id)

    def close(self) -> None:
        """End all connections: the server stops. What ended just before is learned from, if that is quick."""
        self.parts.learning.finish(CLOSING)
        self.parts.servers.close()
