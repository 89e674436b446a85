"""Tools: the one door. MCP tools, commands and pages call it, its `gateway`, `offers` and `capabilities` only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loci.core.cancellation import Cancellation
from loci.core.errors import LociError, Refused
from loci.core.identity import Caller, Owner
from loci.core.json import Json, JsonObject
from loci.core.server_questions import ServerAnswers
from loci.core.telemetry import Called, Door, HowAsked
from loci.gateway.call_history import MOST, LoggedCall
from loci.gateway.capabilities.api import Capabilities
from loci.gateway.configuration import ConfiguredServer, ServerRules, checked_entry
from loci.gateway.gateway import extra_media, text_behind, value_of
from loci.gateway.logins import LoginState, Secret
from loci.gateway.parts import ToolParts
from loci.gateway.policy import ToolPolicy
from loci.gateway.ports import BuiltInTool, Consent, ProgramFailed, Progress
from loci.gateway.server_config import PortableEntry, portable
from loci.gateway.tool_changes import ToolChange, change_of
from loci.gateway.tool_list import tools_of
from loci.gateway.tool_search import FoundTools, KnownTool

EXAMPLE = "\n\nExample: "
"""Begins the last paragraph of each description of Loci's own tools."""
PATIENCE = 2.0
"""Seconds in which the last calls are written down when the server stops."""


@dataclass(frozen=True, slots=True)
class Overview:
    """All tools that an owner can call, and what is known about them."""

    servers: Sequence[ConfiguredServer]
    own: Sequence[BuiltInTool]
    """Loci's own tools."""
    policies: Mapping[str, ToolPolicy]
    """The policy for each tool, by its id."""
    names: Mapping[str, str]
    """The name to call each tool by, by its id."""
    logins: Mapping[str, LoginState]
    """The logins, by the names of their servers."""
    warnings: Mapping[str, str]
    """The words of caution about tools that need them, by the id of the tool."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call."""

    value: Json
    text: str | None
    """The text from which the value was read; None if it is the text itself, or came as a structure."""
    media: tuple[JsonObject, ...]
    """The images, sounds and files, as content blocks, that the value does not have."""


class Tools:
    """The tool servers of all owners, and the calls of their tools."""

    def __init__(self, parts: ToolParts) -> None:
        self.parts = parts
        self.gateway = parts.gateway
        self.offers = parts.offers
        self.capabilities = Capabilities(parts.capability_store, parts.capability_search, parts.learning)

    def servers(self, owner: Owner) -> list[ConfiguredServer]:
        """The configured servers with the tools that they listed last."""
        return self.parts.tool_list.all(owner)

    def known(self, owner: Owner) -> list[ConfiguredServer]:
        """The configured servers with the tools that are known. No server is asked for its list."""
        return self.parts.tool_list.known(owner)

    def add(
        self, owner: Owner, name: str, entry: object, *, trust_views: bool = False, must_start: bool = False
    ) -> ConfiguredServer:
        """Configure a server with an entry of `mcpServers`, or replace its entry.

        `trust_views`: the operator trusts its views. An entry alone cannot say that. `must_start`: ask it for its
        tools. If its program does not start, or ends, raise `ProgramFailed`, and leave everything as it was before.
        """
        tool_list = self.parts.tool_list
        before = tool_list.find(owner, name)
        server = tool_list.put(owner, name, entry, trust_views=trust_views)
        if must_start:
            try:
                return tool_list.ask(owner, name)
            except ProgramFailed:
                tool_list.put_back(owner, name, before)
                raise
            except LociError as error:
                return replace(server, failure=str(error))
        return server

    def portable(self, owner: Owner) -> dict[str, PortableEntry]:
        """The entries of the servers without any secret, for use on another Loci."""
        return {one.name: portable(one.name, one.entry) for one in self.known(owner)}

    def check_place(self, name: str, entry: object) -> None:
        """Raise `Refused` if Loci does not connect to servers at this address."""
        self.parts.resolver.check_place(name, checked_entry(name, entry))

    def filled_here(self, owner: Owner, name: str, entry: object) -> list[str]:
        """The names in the entry whose values are set here, so that such a server would get them."""
        return self.parts.resolver.filled_here(owner, checked_entry(name, entry))

    def rule(self, owner: Owner, name: str, rules: ServerRules) -> ConfiguredServer:
        """Change the rules for a server, for a person. Nothing else of its entry changes."""
        return self.parts.tool_list.rule(owner, name, rules)

    def restore(
        self,
        owner: Owner,
        name: str,
        entry: object,
        *,
        no_variables: bool,
        only_public: bool,
    ) -> None:
        """Configure a server from an archive. The secrets that it names may be set later.

        `no_variables`, `only_public`: override the values in the archive; see `ServerEntry`.
        """
        self.parts.tool_list.restore(owner, name, entry, no_variables=no_variables, only_public=only_public)

    def remove(self, owner: Owner, name: str) -> None:
        """Forget a server, and the login to it."""
        self.parts.tool_list.remove(owner, name)
        self.parts.logins.forget(owner, name)

    def get(self, owner: Owner, name: str) -> ConfiguredServer:
        """The server with this name. Raises `NotFound` if no server has it."""
        return self.parts.tool_list.get(owner, name)

    def ask(self, owner: Owner, name: str) -> ConfiguredServer:
        """Ask a server for its tools now. Raises `LociError` if it fails."""
        return self.parts.tool_list.ask(owner, name)

    def end_session(self, owner: Owner, session: str) -> None:
        """End the connections that a client session has of its own: its client has ended it."""
        self.parts.servers.close(owner, session=session)

    def keep_secret(self, owner: Owner, name: str, text: str) -> None:
        """Store a secret for servers whose entries name it, or replace it."""
        self.parts.secrets.put(owner, name, text)

    def secrets(self, owner: Owner) -> list[str]:
        """The names of the secrets."""
        return self.parts.secrets.names(owner)

    def forget_secret(self, owner: Owner, name: str) -> None:
        """Forget a secret. Raises `NotFound` if no secret has this name."""
        self.parts.secrets.remove(owner, name)

    def logins(self, owner: Owner) -> dict[str, LoginState]:
        """The logins by the names of their servers, without secrets."""
        return self.parts.logins.states(owner)

    def log_in(
        self,
        owner: Owner,
        name: str,
        consent: Consent,
        *,
        scope: str | None = None,
        client_id: str | None = None,
        secret: Secret = lambda _: None,
    ) -> LoginState:
        """Log in at a server with a person's consent. Connections that were opened without the login end.

        `client_id`: a client that the person has registered there; `secret` asks them for its secret.
        """
        server = self.get(owner, name)
        if server.entry.has_authorization:
            raise Refused(f"{name} has an Authorization header of its own", "Configure it without that, then log in")
        wanted = self.parts.resolver.login_request(owner, server)
        state = self.parts.logins.log_in(owner, wanted, consent, scope, client_id, secret)
        self.parts.servers.close(owner, name)
        return state

    def log_out(self, owner: Owner, name: str) -> bool:
        """Forget the login at a server, and have its tokens revoked. False: the issuer cannot revoke tokens."""
        try:
            return self.parts.logins.end(owner, name)
        finally:
            self.parts.servers.close(owner, name)

    def own_tools(self) -> list[KnownTool]:
        """Loci's own tools, as a search sees them."""

        def said(description: str) -> str:
            return description.partition(EXAMPLE)[0]  # its example is about something else than the tool

        own = self.gateway.own()
        return [KnownTool(one.id, one.title or "", said(one.description), one.input_schema) for one in own]

    def search(
        self,
        owner: Owner,
        query: str,
        *,
        limit: int,
        related: bool = False,
        context: Sequence[str] = (),
        for_code: bool = False,
        only_own: bool = False,
    ) -> FoundTools:
        """The tools that fit the query and may be called, of all servers and of Loci itself.

        `related`: also the tools that are used after them. `context`: the tools used before. `for_code`: only tools
        that code and workflows may call. `only_own`: only Loci's own tools.
        """
        servers, gateway = [] if only_own else self.servers(owner), self.gateway
        policies = gateway.policies(servers, with_own=for_code)
        found = self.parts.tool_search.find(
            owner,
            query,
            servers,
            self.own_tools(),
            limit=limit,
            related=related,
            context=context,
            leave_out=gateway.only_for_views(servers) | {id for id, one in policies.items() if one.denied},
        )
        names = gateway.names(servers, [one.tool.id for one in found.tools])
        to_approve = frozenset(id for id, one in policies.items() if one.approval)
        offers = [] if for_code else self.offers.find(query, servers, limit)
        of_servers = {tool.id: tool for _, tool in tools_of(servers)}
        tools = {**{one.id: one for one in gateway.own() if not one.only_for_clients}, **of_servers}
        return replace(
            found,
            offers=tuple(offers),
            to_approve=to_approve,
            names=names,
            warnings=gateway.warnings(servers),
            shapes=gateway.result_shapes(owner, [tools[id] for id in names if id in tools]),
        )

    def call(
        self,
        caller: Caller,
        door: Door,
        tool: str,
        arguments: JsonObject,
        *,
        approved: bool = False,
        asking: HowAsked = "wait",
        progress: Progress | None = None,
        cancelled: Cancellation | None = None,
        answers: ServerAnswers | None = None,
    ) -> JsonObject:
        """Call a tool, and return its result as the protocol has it. `approved`: a person has approved this call.

        `asking`: how a person is asked who must approve it. `answers`: to what its server asked before.
        """
        _, result = self.gateway.call(
            caller,
            door,
            tool,
            arguments,
            approved=approved,
            asking=asking,
            progress=progress,
            cancelled=cancelled,
            answers=answers,
        )
        return result

    def value(
        self, caller: Caller, door: Door, tool: str, arguments: JsonObject, cancelled: Cancellation | None = None
    ) -> Json:
        """Call a tool, and return the plain value of its result. Raises `Refused` if the result is an error."""
        return value_of(*self.gateway.call(caller, door, tool, arguments, cancelled=cancelled))

    def result(
        self,
        caller: Caller,
        door: Door,
        tool: str,
        arguments: JsonObject,
        *,
        approved: bool = False,
        asking: HowAsked = "wait",
        seconds: float | None = None,
        cancelled: Cancellation | None = None,
    ) -> ToolResult:
        """Call a tool, and return its result with all its parts. Raises `Refused` if the result is an error."""
        called = self.gateway.call(
            caller, door, tool, arguments, approved=approved, asking=asking, seconds=seconds, cancelled=cancelled
        )
        value = value_of(*called)
        return ToolResult(value, text_behind(value, called[1]), tuple(extra_media(called[1])))

    def overview(self, owner: Owner) -> Overview:
        """The servers and all tools with the policy for each. This waits for no server."""
        servers, gateway = self.servers(owner), self.gateway
        own = gateway.own()
        policies = gateway.policies(servers)
        names, marks = gateway.names(servers, policies), gateway.warnings(servers)
        return Overview(servers, own, policies, names, self.logins(owner), marks)

    def changes(self, owner: Owner, name: str) -> list[ToolChange]:
        """The changes of a server's tools since they were first seen, or accepted."""
        return [change_of(one) for one in self.get(owner, name).tools if one.seen is not None]

    def accept(self, owner: Owner, name: str, versions: Mapping[str, str]) -> None:
        """Accept changes for a person who was shown them: the tools, each in its version."""
        self.parts.tool_list.accept(owner, name, versions)

    def has_read_others(self, caller: Caller) -> bool:
        """True if the session has read texts of others."""
        return bool(self.parts.readings.sources(caller))

    def count(self, called: Called) -> None:
        """Note that a call has ended, later and on another thread."""
        if called.counted_as is not None:
            self.parts.usage.record(called.caller.owner, called.counted_as, worked=called.outcome == "ok")
        if called.is_upstream:
            self.parts.call_log.add(called)

    def last_calls(self, owner: Owner, limit: int = MOST) -> list[LoggedCall]:
        """The last calls of the servers' tools, the newest first."""
        return self.parts.call_log.last(owner, limit)

    def call_history(self, owner: Owner) -> tuple[list[LoggedCall], dict[str, tuple[int, int]]]:
        """The last calls of the servers' tools, and how many worked and failed by the day, in one read."""
        return self.parts.call_log.history(owner)

    def finish_learning(self) -> None:
        """Wait until all ended runs have been learned from, before the process ends."""
        self.parts.later.finish()

    def close(self) -> None:
        """End all connections: the server stops. Recent calls are counted and learned from, if that is quick."""
        self.parts.later.finish(PATIENCE)
        self.parts.tool_list.close()
