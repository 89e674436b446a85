"""The ports of the gateway: upstream tool servers."""

from collections.abc import Callable, Sequence
from typing import Protocol

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.tools.configuration import Configured
from loci.tools.tool_server import ToolServer, UpstreamTool

Progress = Callable[[float, float | None, str | None], None]
Changed = Callable[[Owner, str], None]
"""Told when a server says that its list of tools changed: whose it is, and its name."""


AskLater = Callable[[Owner, str], None]
"""Has a server asked for its tools meanwhile, by another process: whose it is, and its name."""


class ToolServerError(Unavailable):
    """A tool server failed. What it said is quoted, as data."""

    default_code = "MCP_SERVER_ERROR"


class ServerConnections(Protocol):
    """Connections to upstream servers. Each is opened at its first use, and again after it broke. Owners share none.

    Every method may be called from any thread. A server that is slow or dead holds up only its own callers.
    """

    def tools(self, owner: Owner, server: ToolServer) -> Sequence[UpstreamTool]:
        """All tools of the server, page by page. Raises `ToolServerError` if it cannot be reached or fails."""
        ...

    def call(
        self,
        owner: Owner,
        server: ToolServer,
        tool: str,
        arguments: JsonObject,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,
    ) -> JsonObject:
        """Call the tool, and return the result as the protocol has it, untouched: `content`, `structuredContent`, …

        A result with `isError` is a result. Raises `ToolServerError` if the server gives none in time: it is told that
        nobody waits any more. A call is never repeated: it may have done something.
        """
        ...

    def close(self, owner: Owner | None = None, name: str | None = None) -> None:
        """End the connections: all, an owner's, or one server's."""
        ...


class ToolServers(Protocol):
    """As `ServerConnections`, for servers as they are configured. What fills in secrets may be another process."""

    def tools(self, owner: Owner, server: Configured) -> Sequence[UpstreamTool]: ...

    def call(
        self,
        owner: Owner,
        server: Configured,
        tool: str,
        arguments: JsonObject,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,
    ) -> JsonObject: ...

    def close(self, owner: Owner | None = None, name: str | None = None) -> None: ...
