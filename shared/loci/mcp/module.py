"""Modules: the tools, prompts, resources and routes that a vertical brings to the server.

Nothing that a vertical brings is loaded before it is needed: a cold start answers one request.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from loci.core.json import JsonObject
from loci.core.lazy import Lazy
from loci.mcp.resources import ModuleResources, PromptTemplate
from loci.mcp.skills import ModuleSkills
from loci.mcp.tasks import TaskBackend
from loci.mcp.tool import Surface
from loci.mcp.tool_catalog import ToolFamily
from loci.mcp.upstream import UpstreamTools

if TYPE_CHECKING:
    from loci.app import App


@dataclass(frozen=True, slots=True)
class ModuleRoute:
    """Plain HTTP below a path, such as a page. `make(True)`: callers without a credential are the local person."""

    path: str
    make: Callable[[bool], ASGIApp]


@dataclass(frozen=True, slots=True)
class Module:
    """A vertical, as the server offers it."""

    name: str
    surfaces: Collection[Surface] = ()
    """The endpoints, besides the one that offers all, that show its instructions, prompts and resources."""
    tools: Sequence[ToolFamily] = ()
    instructions: str = ""
    """The text that a model reads before its first call."""
    prompts: Sequence[PromptTemplate] = ()
    resources: ModuleResources | None = None
    skills: ModuleSkills | None = None
    routes: Sequence[ModuleRoute] = ()
    upstream: Lazy[UpstreamTools] | None = None
    long_work: Lazy[TaskBackend] | None = None
    job: Callable[[JsonObject], None] | None = None
    """Work that outlives its request: on AWS, an invocation of its own."""

    def is_on(self, surface: Surface) -> bool:
        """True if the endpoint shows this vertical."""
        return surface in ("all", "core") or surface in self.surfaces


def tool_families(app: "App") -> list[ToolFamily]:
    """Return the tools of all verticals. None of them is loaded."""
    return [family for module in app.modules for family in module.tools]
