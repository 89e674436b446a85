"""A tool server, how it is reached, and the tools that it has."""

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final, Literal, cast

from loci.core.json import JsonObject
from loci.core.redaction import Redaction, redaction_for

if TYPE_CHECKING:
    from loci.gateway.logins import LoginBearer

SECONDS, AT_ONCE = 30.0, 32
"""The defaults of a server: the seconds that a call may take, and the calls that it gets at once."""

SAFE: Final = {
    "r": ("readOnlyHint", True),
    "k": ("destructiveHint", False),
    "i": ("idempotentHint", True),
    "c": ("openWorldHint", False),
}
"""The hints by which a tool is harmless. By the protocol, a missing hint means the contrary."""
PLAIN_WORD: Final = re.compile(r"[A-Za-z]{1,12}")
"""A text that may be a password and yet an ordinary word, which also names tools and arguments."""


@dataclass(frozen=True, slots=True)
class Program:
    """A server that Loci starts on this machine and talks to over its standard input and output."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    folder: str | None = None
    """The working folder of the program."""
    secrets: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """The secrets in its arguments and variables."""
    network: Mapping[str, str] = field(default_factory=lambda: {"PATH": os.environ.get("PATH", os.defpath)})
    """The variables of this machine by which programs are found and the network is reached."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that is reached by Streamable HTTP, or an HTTP API."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    bearer: "LoginBearer | None" = field(default=None, repr=False)
    only_public: bool = False
    """True: by https at public addresses only."""
    secrets: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """The secrets in its address and its headers."""
    is_api: bool = False
    """True: the address is that of an OpenAPI document, and the tools are the operations of its API."""
    query: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The keys that go into the address of each request to the API."""
    base_url: str | None = None
    """The address of the API, if the operator named it; else the document does."""
    methods: tuple[str, ...] = ()
    """The methods of the API whose operations are tools, in small letters; none: all."""


@dataclass(frozen=True, slots=True)
class LambdaFunction:
    """A server that is a Lambda function, which answers one message of the protocol at each invocation."""

    arn: str
    secrets: frozenset[str] = field(default=frozenset(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ToolServer:
    """An upstream MCP server, as its owner configured it. Names of variables and secrets are filled in."""

    name: str
    reach: Program | Endpoint | LambdaFunction
    seconds: float = SECONDS
    at_once: int = AT_ONCE
    session: str = ""
    """The client session that has connections of its own; empty: all clients of the owner share one."""
    shows_views: bool = False
    """True: it is told that its views are shown."""

    def redaction(self, *, plain_words: bool = True) -> Redaction:
        """The redaction of the secrets that the server was given until now; with or without plain words."""
        secrets = self.reach.secrets
        if isinstance(self.reach, Endpoint) and self.reach.bearer is not None:
            secrets |= self.reach.bearer.secrets
        if not plain_words:
            secrets = frozenset(one for one in secrets if not PLAIN_WORD.fullmatch(one))
        return redaction_for(secrets)


@dataclass(frozen=True, slots=True)
class SeenTool:
    """A tool as it was first seen, or as a person accepted it later."""

    version: str
    """Stands for all that its server said of it; empty for a tool that came later, and that nobody has accepted."""
    safe: str = ""
    """The letters in `SAFE` of the hints by which it was harmless."""
    text: str = ""
    """The words of its server about it, in lines for people; empty if they were not kept."""


@dataclass(frozen=True, slots=True)
class UpstreamTool:
    """A tool of a tool server. All fields but `seen`, `word`, `fault` and `id` were written by others."""

    server: str
    name: str
    title: str | None
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None
    annotations: JsonObject
    """The hints that the server gave, by their wire names such as `readOnlyHint`."""
    seen: SeenTool | None = None
    """The tool as it was before its server changed it; None if it is unchanged."""
    word: Literal["reads", "destructive"] | None = None
    """The operator's word about it."""
    fault: str | None = None
    """How its description breaks the protocol, so that nobody can call it; None if it does not."""
    view: str | None = None
    """The URI of the view that shows its results; None if it has none."""
    visibility: list[str] | None = None
    """The callers that it is for, `model` and `app`; None: both."""
    id: str = field(init=False, repr=False, compare=False)
    """The id of the tool, such as `github:create_issue`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", f"{self.server}:{self.name}")

    @property
    def said(self) -> JsonObject:
        """The server's own part, as it is stored and sent."""
        unset = {name for name in ("fault", "view", "visibility") if getattr(self, name) is None}
        left_out = {"seen", "word", "id", *unset}
        return cast("JsonObject", {name: one for name, one in asdict(self).items() if name not in left_out})

    @property
    def is_for_models(self) -> bool:
        """True unless its server says that only views call it."""
        return self.visibility is None or "model" in self.visibility

    @property
    def is_for_views(self) -> bool:
        """True unless its server says that no view calls it."""
        return self.visibility is None or "app" in self.visibility

    @property
    def safe(self) -> str:
        """The letters in `SAFE` of the hints by which the tool is harmless now."""
        return "".join(letter for letter, (name, value) in SAFE.items() if self.annotations.get(name) is value)

    @property
    def hints(self) -> JsonObject:
        """The hints that count: the operator's word, else the more careful of the first hints and those now."""
        match self.word, self.seen:
            case "reads", _:
                return {**self.annotations, "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}
            case "destructive", _:
                return {**self.annotations, "readOnlyHint": False, "destructiveHint": True, "idempotentHint": False}
            case _, None:
                return self.annotations
            case _, SeenTool() as seen:
                both = {*self.safe} & {*seen.safe}
                careful = {name: value if letter in both else not value for letter, (name, value) in SAFE.items()}
                return {**self.annotations, **careful}
