"""The configuration of tool servers: entries of `mcpServers`, as the files of other clients have them."""

import ipaddress
import json
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from loci.core.errors import Refused
from loci.core.json import JsonObject
from loci.core.redaction import BLANK
from loci.core.settings import FUNCTION_ARN
from loci.gateway.offer import Offer
from loci.gateway.tool_server import AT_ONCE, SECONDS, UpstreamTool

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
VARIABLE = re.compile(r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")
SEALED = re.compile(r"\$\{closed\+(?P<text>[\w=.-]+)\}")
"""A part of an argument or of a URL that is stored closed."""
OWN = frozenset({"loci", "pml"})
"""Names that belong to Loci's own tools."""
LARGEST_FILE = 1 << 20
Grant = Literal["authorization_code", "client_credentials"]


def _joined(value: object) -> object:
    """Scopes as OAuth writes them: other clients have lists."""
    return " ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else value


class OAuthEntry(BaseModel):
    """The client that is registered by hand, and how it gets tokens. Also as Claude Code and Cursor spell it."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    grant: Grant = "authorization_code"
    client_id: str | None = Field(
        default=None, min_length=1, max_length=2000, validation_alias=AliasChoices("client_id", "clientId", "CLIENT_ID")
    )
    client_secret: str | None = Field(
        default=None, min_length=1, validation_alias=AliasChoices("client_secret", "clientSecret", "CLIENT_SECRET")
    )
    scope: Annotated[str | None, BeforeValidator(_joined)] = Field(
        default=None, validation_alias=AliasChoices("scope", "scopes")
    )
    issuer: str | None = None
    """The authorization server to which the secret may be sent, if it is at another address than the tool server."""
    token_url: str | None = Field(default=None, validation_alias=AliasChoices("token_url", "tokenUrl"))
    callback_port: int | None = Field(
        default=None, ge=1, le=65535, validation_alias=AliasChoices("callback_port", "callbackPort")
    )


def _oauth_or_none(value: object) -> object:
    """Passes over what other clients write there that is no settings, such as `"auth": "oauth"`."""
    return cast("object", value) if isinstance(value, dict | OAuthEntry) else None


class ServerRules(BaseModel):
    """The operator's rules for a server: patterns of its tools, prompts and resources."""

    allow: list[str] = []
    """The patterns of what may be called; none: everything."""
    deny: list[str] = []
    approve: list[str] = []
    """The tools whose calls a person must approve."""
    disabled: bool = False
    """True: it is turned off. It is not asked, and nothing of it is found or called."""


class ServerEntry(ServerRules):
    """A server of `mcpServers`. `${NAME}` stands for a variable, `${NAME:-text}` for a variable with a default.

    Cursor and VS Code write `${env:NAME}`.
    """

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    type: Literal["stdio", "http", "streamable-http", "streamableHttp", "openapi"] | None = None
    """`openapi`: the url is that of an OpenAPI document, and each operation of its API is a tool."""
    command: str | None = Field(None, min_length=1)
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = Field(None, min_length=1)
    function: str | None = Field(None, pattern=FUNCTION_ARN, validation_alias=AliasChoices("function", "lambda"))
    """The ARN of a Lambda function that is a tool server."""
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    """Keys of an API that go into the address of each request."""
    base_url: str | None = Field(None, pattern=r"^https?://[^/\s?#]+[^\s?#]*$")
    """The address of the API, instead of the address that its document names."""
    methods: list[Literal["get", "put", "post", "delete", "patch"]] = []
    """The methods whose operations are tools; none: all."""
    oauth: Annotated[OAuthEntry | None, BeforeValidator(_oauth_or_none)] = Field(
        None, validation_alias=AliasChoices("oauth", "auth")
    )
    seconds: float = Field(SECONDS, gt=0, le=900)
    at_once: int = Field(AT_ONCE, ge=1, le=64)
    destructive: list[str] = []
    """Patterns of the tools that may destroy something, whatever the server says about them."""
    reads: list[str] = []
    """Patterns of other tools that change nothing, whatever the server says about them."""
    own_environment: bool = False
    """True: its program gets no PATH, proxies and certificates of this machine."""
    session_per_client: bool = False
    """True: each client session has a connection of its own, for a server that keeps state."""
    tools_only: bool = False
    """True: its prompts and resources are not passed on."""
    trust_views: bool = False
    """True: its views are passed on. Only the operator says so: no entry of a file, an archive or a model has it."""
    no_variables: bool = False
    """True: no variable of the environment is filled in, only secrets. It came with an import."""
    only_public: bool = False
    """True: it is reached by https at public addresses only. It came with an import over HTTP."""

    @property
    def has_authorization(self) -> bool:
        """True if it brings its own credentials."""
        return any(name.lower() == "authorization" for name in self.headers)

    def as_json(self) -> JsonObject:
        """The entry as it is stored and shown, without what is not set."""
        return cast("JsonObject", self.model_dump(mode="json", exclude_defaults=True))


@dataclass(frozen=True, slots=True)
class ConfiguredServer:
    """A server, as its owner configured it."""

    name: str
    entry: ServerEntry
    tools: tuple[UpstreamTool, ...] = ()
    """The tools that the server listed last."""
    listed_at: float | None = None
    failure: str | None = None
    """Why it could not list them the last time."""
    failed_at: float | None = None
    unfit: tuple[UpstreamTool, ...] = ()
    """The tools that nobody can call, because the server describes them wrongly."""
    offers: tuple[Offer, ...] = ()
    """Its prompts, resources and templates, as it listed them then."""
    session: str = ""
    """The client session that is served, if each has a connection of its own."""

    @property
    def is_new(self) -> bool:
        """True if the server was never asked for its tools."""
        return self.listed_at is None and self.failure is None


def checked_name(name: str) -> str:
    """The name, if a tool server can have it; else raise `Refused`."""
    if not NAME.fullmatch(name):
        raise Refused(
            f"{name[:80]!r} is no name for a tool server",
            "Use 1 to 40 letters, digits, hyphens and underscores",
            code="BAD_NAME",
        )
    if name.lower() in OWN:
        raise Refused(f"{name!r} is the name of Loci's own tools", "Choose another name", code="BAD_NAME")
    return name


def checked_entry(name: str, value: object) -> ServerEntry:
    """Parse the entry. Raises `Refused` if it names no server, or a kind of server that Loci does not know."""
    try:
        entry = ServerEntry.model_validate(value)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"]) or "the entry"
        raise not_configured(name, f"{where}: {fault['msg']}", "Correct it") from None
    entry = entry.model_copy(update={"trust_views": False})
    if sum(one is not None for one in (entry.command, entry.url, entry.function)) != 1:
        raise not_configured(name, "it needs either a command, a url or a function", "Give one of them")
    if entry.url is not None and not re.match(r"https?://[^/\s]+|\$\{", entry.url):
        raise not_configured(name, f"{entry.url[:80]!r} is no URL", "Give one that begins with https:// or http://")
    if entry.type == "openapi" and entry.url is None:
        raise not_configured(name, "an API needs the url of its OpenAPI document", "Give it")
    if entry.type != "openapi" and (entry.base_url or entry.methods or entry.query):
        what = "base_url, methods and query are for an API"
        raise not_configured(name, what, 'Add "type": "openapi", or leave them out')
    if entry.oauth is not None:
        _check_oauth(name, entry, entry.oauth)
    return entry


def _check_oauth(name: str, entry: ServerEntry, oauth: OAuthEntry) -> None:
    if entry.url is None:
        raise not_configured(name, "oauth is for servers with a url", "Leave it out")
    if entry.has_authorization:
        raise not_configured(name, "it has oauth and an Authorization header", "Leave out one of them")
    if oauth.grant == "client_credentials" and not (oauth.client_id and oauth.client_secret):
        raise not_configured(name, "client_credentials need a client_id and a client_secret", "Give both")


def entries_in(text: str, source: str) -> dict[str, object]:
    """The servers in a client's file, by the names that they have there. Raises `Refused` if it has no `mcpServers`."""
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise Refused(f"{source} is no JSON ({error})", "Correct it", code="BAD_CONFIGURATION") from None
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    # VS Code's files say `servers`.
    servers = fields.get("mcpServers") or fields.get("servers")
    if not isinstance(servers, dict):
        raise Refused(f"{source} has no mcpServers", "Give a file that has", code="BAD_CONFIGURATION")
    return cast("dict[str, object]", servers)


def imported_name(name: str) -> str:
    """The name that Loci gives a server of a client's file: other characters become hyphens."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:40] or "server"


def shown_entry(entry: ServerEntry) -> str:
    """The entry in one line, without the values of variables and headers: they may be secret."""
    if entry.url is not None:
        return shown_url(entry.url)
    if entry.function is not None:
        return entry.function
    return SEALED.sub(BLANK, " ".join([PurePath(entry.command or "").name, *entry.args]))


def shown_url(url: str) -> str:
    """The URL without what may be secret in it."""
    return SEALED.sub(BLANK, url.partition("?")[0])


def not_configured(name: str, what: str, advice: str) -> Refused:
    """The error for an entry that does not do."""
    return Refused(f"The tool server {name[:80]!r} is not configured well: {what}", advice, code="BAD_CONFIGURATION")


NEVER = tuple(
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # relays of 6to4
    )
)
GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")
TUNNELS = tuple(ipaddress.ip_network(network) for network in ("2001::/23", "2002::/16", "3fff::/20"))
"""Networks for special uses, such as Teredo, 6to4 and documentation: such an address may mean a private one."""
ELSEWHERE = "Run it where it has a public https address and add that, or add it to a Loci on your own machine"


def is_public(text: str) -> bool:
    """True if everybody on the internet reaches the same machine by this address."""
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast and not any(address in network for network in NEVER)
    # Outside this block lie loopback, private, link-local, multicast, IPv4-mapped and NAT64 addresses.
    return address.is_global and address in GLOBAL_IPV6 and not any(address in network for network in TUNNELS)


def is_outside(entry: ServerEntry) -> bool:
    """True if the entry itself says that it leads to https at a name, or at a public address."""
    url = entry.url or ""
    if not url.lower().startswith("https://") or VARIABLE.search(url):
        return False
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return is_public(host)
    except ValueError:
        return "." in host and not host.rpartition(".")[2].isdecimal()


def check_public(name: str, entry: ServerEntry) -> None:
    """Raise `Refused` if the entry itself shows that it leads to no public server. Names are checked at connecting."""
    if entry.function is not None:
        return  # the function `connect` reaches those that its stage lists
    if entry.url is None:
        raise not_configured(name, "Loci starts no programs on AWS, where one function serves all owners", ELSEWHERE)
    for url in (entry.url, entry.base_url or ""):
        if url.lower().startswith("http://"):
            raise not_configured(name, "on AWS its address must begin with https://", ELSEWHERE)
        try:
            is_inside = bool(url) and not is_public(urlsplit(url).hostname or "")
        except ValueError:  # it is a name, or has a variable
            continue
        if is_inside:
            raise not_configured(name, "its address is not public, and AWS does not reach it", ELSEWHERE)
