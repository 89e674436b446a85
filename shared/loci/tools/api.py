"""Tools: the one door. MCP tools, commands and pages call these methods and nothing behind them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.tools.authorization import AuthorizationServer
from loci.tools.configuration import Configured
from loci.tools.discovery import Discovery, FoundTools
from loci.tools.gateway import Gateway, Progress
from loci.tools.login_records import LoginState
from loci.tools.logins import BegunLogin, Logins
from loci.tools.ports import ToolServers
from loci.tools.reaching import Reaching
from loci.tools.result_value import value_of
from loci.tools.secrets import Secrets
from loci.tools.tool_list import ToolList
from loci.tools.tool_search import KnownTool
from loci.tools.usage import Usage


@dataclass(frozen=True, slots=True)
class ToolParts:
    """Everything that `Tools` is made of."""

    tool_list: ToolList
    gateway: Gateway
    servers: ToolServers
    discovery: Discovery
    usage: Usage
    secrets: Secrets
    logins: Logins
    reaching: Reaching


class Tools:
    """Every owner's tool servers, and the calls of their tools."""

    def __init__(self, parts: ToolParts) -> None:
        self.parts = parts

    def servers(self, owner: Owner) -> list[Configured]:
        """The configured servers with the tools that they listed last."""
        return self.parts.tool_list.all(owner)

    def known(self, owner: Owner) -> list[Configured]:
        """The same, of which none is asked anew."""
        return self.parts.tool_list.known(owner)

    def add(self, owner: Owner, name: str, entry: object) -> Configured:
        """Configure a server by an entry of `mcpServers`, or configure it anew."""
        return self.parts.tool_list.put(owner, name, entry)

    def remove(self, owner: Owner, name: str) -> None:
        """Forget a server, and the login to it."""
        self.parts.tool_list.remove(owner, name)
        self.parts.logins.forget(owner, name)

    def get(self, owner: Owner, name: str) -> Configured:
        """The server with this name. Raises `NotFound` if there is none."""
        return self.parts.tool_list.get(owner, name)

    def ask(self, owner: Owner, name: str) -> Configured:
        """Ask a server for its tools now. Raises `LociError` if it fails."""
        return self.parts.tool_list.ask(owner, name)

    def logins(self, owner: Owner) -> dict[str, LoginState]:
        """The logins at servers, by their names. None of it is secret."""
        return self.parts.logins.states(owner)

    def begin_login(
        self,
        owner: Owner,
        name: str,
        redirect: str,
        *,
        scope: str | None = None,
        client_id: str | None = None,
        secret: Callable[[AuthorizationServer], str | None] = lambda _: None,
    ) -> BegunLogin:
        """Find out where to log in. The answer comes to `redirect`; `secret`: of the client `client_id`."""
        server = self.get(owner, name)
        if server.entry.has_authorization:
            raise Refused(f"{name} has an Authorization header of its own", "Configure it without that, then log in")
        wanted = self.parts.reaching.wanted_login(owner, server)
        return self.parts.logins.begin(owner, wanted, redirect, scope, client_id, secret)

    def finish_login(self, owner: Owner, begun: BegunLogin, answer: dict[str, str]) -> LoginState:
        """Keep the login that the person has consented to. Connections without it end."""
        state = self.parts.logins.finish(owner, begun, answer)
        self.parts.servers.close(owner, begun.wanted.name)
        return state

    def log_out(self, owner: Owner, name: str) -> LoginState:
        """Forget the login to a server, and have its tokens revoked."""
        try:
            return self.parts.logins.end(owner, name)
        finally:
            self.parts.servers.close(owner, name)

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

    def close(self) -> None:
        """End all connections: the server stops."""
        self.parts.servers.close()
