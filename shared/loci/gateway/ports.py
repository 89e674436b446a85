"""The ports of the gateway: upstream tool servers, the issuers of tokens for them, and Loci's own tools."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from loci.core.cancellation import Cancellation
from loci.core.errors import Unavailable
from loci.core.identity import Caller, Owner
from loci.core.json import Json, JsonObject
from loci.core.server_questions import ServerAnswers
from loci.gateway.configuration import ConfiguredServer, OAuthEntry
from loci.gateway.offer import Method, Offer
from loci.gateway.tool_server import Endpoint, ToolServer, UpstreamTool

S_contra = TypeVar("S_contra", ToolServer, ConfiguredServer, contravariant=True)
Progress = Callable[[float, float | None, str | None], None]
"""Called with the progress of a call: done, total, and a text."""
Changed = Callable[[Owner, str], None]
"""Called with the owner and the name of a server that says that its list of tools changed."""
AskLater = Callable[[Owner, str], None]
"""Has another process ask a server for its tools: called with its owner and its name."""


class ToolServerError(Unavailable):
    """The failure of a tool server. Its own words are quoted, as data."""

    default_code = "MCP_SERVER_ERROR"


class ProgramFailed(ToolServerError):
    """The program of a tool server could not be started, or ended by itself."""


class LoginFailed(ToolServerError):
    """The authorization server cannot be reached, refuses, or cannot be trusted. Its words are quoted, as data."""

    def __init__(self, what: str, resolution: str, error: str | None = None) -> None:
        """`error`: the code of an answer, such as `invalid_grant`."""
        super().__init__(what, resolution)
        self.error = error


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """The login that a server's entry asks for, with everything filled in."""

    name: str
    written: str
    """The URL of the server as the entry has it."""
    endpoint: Endpoint
    oauth: OAuthEntry

    @property
    def url_hash(self) -> str:
        """A hash that stands for the URL, which may be secret."""
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
    """The issuer of the tokens, as it describes itself (RFC 8414). Not secret."""
    client: JsonObject = field(default_factory=dict[str, Json], repr=False)
    """Loci, as it is registered there (RFC 7591)."""
    resource: str = field(default="", repr=False)
    """The tool server's name there."""
    token: str = field(default="", repr=False)
    refresh: str | None = field(default=None, repr=False)
    seconds: float | None = None
    """Seconds for which the token is good; None if unknown."""
    scope: str | None = None
    only_public: bool = False
    """True: it is renewed by https at public addresses only, as the tool server is called."""


class AuthorizationServers(Protocol):
    """Requests to issuers of tokens. Each is bounded in time and size, and follows no redirect.

    Every method may be called from any thread, and raises `LoginFailed`.
    """

    def log_in(
        self, wanted: LoginRequest, client: JsonObject | None, scope: str | None, consent: Consent | None
    ) -> Access:
        """Find out who gives out the server's tokens, and get some. The secret goes only to whom the owner trusts.

        `client`: who Loci is there (RFC 7591); None: it registers itself. `scope`: what to ask for, instead of what the
        server wants. `consent`: of a person, who is asked meanwhile; None: the client's secret suffices.
        """
        ...

    def renew(self, access: Access) -> Access:
        """The same access with other tokens."""
        ...

    def revoke(self, access: Access) -> bool:
        """Tell that the tokens must not be accepted any more. False: there is no way to tell that."""
        ...


class Servers(Protocol[S_contra]):
    """The tool servers of all owners. A server that is slow or dead holds up only its own callers.

    Every method may be called from any thread.
    """

    def tools(self, owner: Owner, server: S_contra) -> Sequence[UpstreamTool]:
        """All tools of the server, page by page. Raises `ToolServerError` if it cannot be reached or fails."""
        ...

    def offers(self, owner: Owner, server: S_contra) -> Sequence[Offer]:
        """Its prompts, resources and templates, page by page, as far as there is room. Raises `ToolServerError`."""
        ...

    def fetch(self, owner: Owner, server: S_contra, method: Method, params: JsonObject) -> JsonObject:
        """Get a prompt, read a resource or complete a value, and return the result as the protocol has it.

        A server without completions has none. Raises `ToolServerError`.
        """
        ...

    def call(
        self,
        owner: Owner,
        server: S_contra,
        tool: str,
        arguments: JsonObject,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,
        cancelled: Cancellation | None = None,
        answers: ServerAnswers | None = None,
    ) -> JsonObject:
        """Call the tool, and return the result as the protocol has it, untouched: `content`, `structuredContent`, …

        A result with `isError` is a result. Raises `ToolServerError` if the server gives none in time: it is told that
        nobody waits any more, as it is when the call is given up. A call is never repeated: it may have done something.
        Raises `ServerAsks` if the server has a question first; the same call with the `answers` goes on.
        """
        ...

    def close(
        self,
        owner: Owner | None = None,
        name: str | None = None,
        *,
        session: str | None = None,
        for_good: bool = False,
    ) -> None:
        """End the connections: all, an owner's, one server's, or those of one client session.

        `for_good`: a call that comes as Loci ends opens none, and so starts no program that nobody would end.
        """
        ...


ServerConnections = Servers[ToolServer]
"""Connections of this process. Each is opened at its first use, and again after it broke. Owners never share one."""
ToolServers = Servers[ConfiguredServer]
"""Servers as they are configured. Another process may fill in their secrets."""


class BuiltInTool(Protocol):
    """A tool of Loci itself."""

    @property
    def id(self) -> str:
        """The id of the tool, such as `loci:search_documents`."""
        ...

    @property
    def wire_name(self) -> str:
        """The name under which the tool is listed."""
        ...

    @property
    def title(self) -> str | None: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> JsonObject: ...
    @property
    def output_schema(self) -> JsonObject | None: ...
    @property
    def annotations(self) -> JsonObject: ...
    @property
    def only_for_clients(self) -> bool:
        """True: code and workflows may not call it, because it runs code or calls tools itself."""
        ...

    @property
    def keeps(self) -> bool:
        """True if it writes what searches find later."""
        ...

    @property
    def is_step(self) -> bool:
        """True if its use counts for the question which tools are used together."""
        ...

    def check_names(self, arguments: JsonObject) -> None:
        """Raise `Refused` if one of these names is no argument of the tool."""
        ...

    def call(self, caller: Caller, arguments: JsonObject, progress: Progress | None) -> JsonObject:
        """Call it on this thread, and return its result as the protocol has it. Raises `LociError` if it fails."""
        ...


class BuiltInTools(Protocol):
    """Loci's own tools, for callers without a request. A tool is loaded when it is found."""

    def all(self) -> Sequence[BuiltInTool]: ...

    def find(self, spelling: str) -> BuiltInTool | None:
        """The tool behind any spelling of its name; None if there is no such tool."""
        ...
