"""The two sides of the server: what a vertical brings to it, and what the protocol needs of the product.

Nothing that a vertical brings is loaded before it is needed: a cold start answers one request.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Scope

from loci.core.identity import Caller
from loci.core.json import JsonObject
from loci.core.lazy import Lazy
from loci.core.settings import Settings
from loci.core.signing import Keyring
from loci.core.stores import LocalLinks, RecordStore
from loci.core.telemetry import Calls, Telemetry
from loci.mcp.answers import ResultStore
from loci.mcp.resources import ModuleResources, PromptTemplate
from loci.mcp.tasks import LongWork
from loci.mcp.tool import Surface
from loci.mcp.tool_catalog import ToolFamily
from loci.mcp.upstream import UpstreamTools


@dataclass(frozen=True, slots=True)
class ModuleRoute:
    """Plain HTTP below a path, such as a page. `make(True)`: callers without a credential are the local person."""

    path: str
    make: Callable[[bool], ASGIApp]


@dataclass(frozen=True, slots=True)
class Module:
    """One vertical, as the server offers it."""

    name: str
    surfaces: Collection[Surface] = ()
    """The endpoints, besides the one that offers all, that show its instructions, prompts and resources."""
    tools: Sequence[ToolFamily] = ()
    instructions: str = ""
    """The text that a model reads before its first call."""
    prompts: Sequence[PromptTemplate] = ()
    resources: ModuleResources | None = None
    routes: Sequence[ModuleRoute] = ()
    upstream: Lazy[UpstreamTools] | None = None
    long_work: Lazy[LongWork] | None = None
    job: Callable[[JsonObject], None] | None = None
    """Work that outlives its request: on AWS, an invocation of its own."""

    def is_on(self, surface: Surface) -> bool:
        """True if the endpoint shows this vertical."""
        return surface == "all" or surface in self.surfaces


class Gate(Protocol):
    """Lets callers in."""

    async def recognise(self, scope: Scope, headers: Headers) -> Caller:
        """Return the caller. Refuse a credential that is missing, wrong or not enough."""
        ...


class Host(Protocol):
    """The product, as the protocol sees it."""

    @property
    def settings(self) -> Settings: ...
    @property
    def telemetry(self) -> Telemetry: ...
    @property
    def calls(self) -> Calls: ...
    @property
    def keyring(self) -> Keyring: ...
    @property
    def records(self) -> RecordStore: ...
    @property
    def local_links(self) -> LocalLinks | None: ...
    @property
    def read_public(self) -> Callable[[str], bytes]: ...
    def gate(self, *, is_open: bool) -> Gate: ...
    @property
    def scratchpad(self) -> ResultStore: ...
    @property
    def modules(self) -> Sequence[Module]: ...


def tool_families(host: Host) -> list[ToolFamily]:
    """Every tool of every vertical, none of them loaded."""
    return [family for module in host.modules for family in module.tools]
