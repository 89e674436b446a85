"""The tools that a plan may be made of, and the parameters that they take."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.gateway.policy import reads
from loci.gateway.shapes import Shape
from loci.gateway.tool_words import in_words
from loci.search.words import index_words

if TYPE_CHECKING:
    from loci.gateway.api import Tools
    from loci.gateway.tool_search import FoundTool

MOST_CHOICES: Final = 12


@dataclass(frozen=True, slots=True)
class Parameter:
    """A field of a tool's arguments, or of its result."""

    name: str
    required: bool
    schema: JsonObject
    types: frozenset[str]
    """Empty: any."""
    item_types: frozenset[str]
    """The types of the items of a list. Empty: any."""

    words: frozenset[str]
    """The stems of its name."""

    @property
    def choices(self) -> list[Json]:
        found = self.schema.get("enum")
        return found if isinstance(found, list) else []

    @property
    def is_list(self) -> bool:
        return [*self.types] == ["array"]

    def item_fields(self) -> "list[Parameter]":
        """The fields of the objects in the list; empty if it has no objects."""
        items = self.schema.get("items") if self.is_list else None
        return parameters(items) if isinstance(items, dict) else []

    def told(self, longest: int) -> str:
        """Tell in a line what it takes."""
        kind = " | ".join(str(one) for one in self.choices[:MOST_CHOICES]) or " or ".join(sorted(self.types))
        about = self.schema.get("description")
        text = f": {' '.join(about.split())[:longest]}" if isinstance(about, str) and about else ""
        return f"{kind or 'any value'}{', required' if self.required else ''}{text}"


def parameters(schema: JsonObject | None) -> list[Parameter]:
    """The fields of an object, the required ones first."""
    if schema is None or not isinstance(fields := schema.get("properties"), dict):
        return []
    needed = schema.get("required")
    required = needed if isinstance(needed, list) else []
    found = list[Parameter]()
    for name, one in fields.items():
        types, items = (Shape(one, schema).types(at) or frozenset[str]() for at in ((), ("0",)))
        words, own = frozenset(index_words(in_words(name))), one if isinstance(one, dict) else {}
        found.append(Parameter(name, name in required, own, types - {"null"}, items, words))
    return sorted(found, key=lambda one: not one.required)


@dataclass(frozen=True)
class ToolFacts:
    """The facts about a tool that a plan needs. All of them were written by others."""

    id: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None
    reads: bool
    """True if the tool says that it changes nothing."""

    @property
    def server(self) -> str:
        return self.id.partition(":")[0]

    @cached_property
    def parameters(self) -> list[Parameter]:
        return parameters(self.input_schema)


class Toolbox:
    """The tools of an owner's servers, and Loci's own, as far as a workflow may call them."""

    def __init__(self, tools: "Callable[[], Tools]", owner: Owner) -> None:
        self._tools = tools
        self._owner = owner

    def find(self, words: str, context: Sequence[str], limit: int) -> "Sequence[FoundTool]":
        """The tools that fit the words, the best first. `context`: the tools of the steps before."""
        return self._tools().search(self._owner, words, limit=limit, context=context, for_code=True).tools

    def facts(self, id: str) -> ToolFacts:
        tool = self._tools().gateway.described(self._owner, id)
        return ToolFacts(id, tool.description, tool.input_schema, tool.output_schema, reads(tool))

    def ids(self) -> Sequence[str]:
        """The ids of all tools."""
        tools = self._tools()
        return [id for id, one in tools.gateway.policies(tools.servers(self._owner)).items() if not one.denied]
