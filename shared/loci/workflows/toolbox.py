"""The tools that a plan may be made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from loci.core.identity import Owner
from loci.core.json import JsonObject

if TYPE_CHECKING:
    from loci.gateway.api import Tools
    from loci.gateway.tool_search import FoundTool


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """The facts about a tool that a plan needs. All of them were written by others."""

    id: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None
    reads: bool
    """True if the tool says that it changes nothing."""


class Toolbox(Protocol):
    """Finds tools that a workflow may call."""

    def find(self, words: str, context: Sequence[str], limit: int) -> "Sequence[FoundTool]":
        """The tools that fit the words, the best first. `context`: the tools of the steps before."""
        ...

    def facts(self, id: str) -> ToolFacts: ...

    def ids(self) -> Sequence[str]:
        """The ids of all tools that a workflow may call."""
        ...


class OwnersToolbox:
    """The tools of an owner's servers, and Loci's own."""

    def __init__(self, tools: "Callable[[], Tools]", owner: Owner) -> None:
        self._tools = tools
        self._owner = owner

    def find(self, words: str, context: Sequence[str], limit: int) -> "Sequence[FoundTool]":
        return self._tools().search(self._owner, words, limit=limit, context=context, for_code=True).tools

    def facts(self, id: str) -> ToolFacts:
        from loci.gateway.policy import reads  # slow to load, and a listing of Loci's tools does not need it

        tool = self._tools().gateway.described(self._owner, id)
        return ToolFacts(id, tool.description, tool.input_schema, tool.output_schema, reads(tool))

    def ids(self) -> Sequence[str]:
        tools = self._tools()
        return [id for id, one in tools.gateway.policies(tools.servers(self._owner)).items() if not one.denied]
