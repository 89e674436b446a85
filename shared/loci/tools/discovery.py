"""Finds tools by what somebody wants to do, among those of all servers of an owner and Loci's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loci.core.identity import Owner
from loci.tools.configuration import Configured
from loci.tools.meanings import Meanings
from loci.tools.tool_list import tools_of
from loci.tools.tool_search import FoundTool, KnownTool, ToolIndex
from loci.tools.tool_server import UpstreamTool
from loci.tools.usage import Usage

MOST_BOOST = 0.1
"""The most that a tool's score can gain by the tools that were used before it."""
MOST_RELATED = 3


@dataclass(frozen=True, slots=True)
class FoundTools:
    """The tools that fit, the best first, then those that are used after them."""

    tools: tuple[FoundTool, ...]
    related: frozenset[str]
    """The ids of those that are there because they are used after the others."""
    searched: int
    unknown: tuple[str, ...]
    """Servers that have not listed their tools yet."""
    failed: tuple[str, ...]
    """Servers that failed when they were asked last."""
    to_approve: frozenset[str] = frozenset()
    """The ids of those whose calls a person must approve."""
    warnings: Mapping[str, str] = field(default_factory=dict[str, str])
    """By their ids, the words of caution about those that need them."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """By their ids, the names to call them by: ones that every client accepts, unless other tools have them, too."""


class Discovery:
    """Keeps the index of the tools that were searched last: they change seldom."""

    def __init__(self, usage: Usage, meanings: Meanings) -> None:
        self._usage = usage
        self._meanings = meanings
        self._last: tuple[tuple[KnownTool, ...], ToolIndex] | None = None

    def find(
        self,
        owner: Owner,
        query: str,
        servers: Sequence[Configured],
        own: Sequence[KnownTool],
        *,
        limit: int,
        related: bool,
        context: Sequence[str],
        leave_out: frozenset[str] = frozenset(),
    ) -> FoundTools:
        """The tools that fit the query, without those with the ids in `leave_out`."""
        known = (*own, *(_known(tool) for _, tool in tools_of(servers)))
        last = self._last
        index = last[1] if last is not None and last[0] == known else ToolIndex(known)
        self._last = known, index
        after = self._usage.related(owner, context) if context else {}
        boost = {one: MOST_BOOST * sure for one, sure in after.items()}
        near = self._meanings.of(owner, query, known)
        # They stay in the index: it is made anew whenever its tools change.
        ranked = index.find(query, limit + len(leave_out), near, boost)
        found = [one for one in ranked if one.tool.id not in leave_out][:limit]
        more = self._related(owner, [one for one in known if one.id not in leave_out], found) if related else []
        return FoundTools(
            (*found, *more),
            frozenset(one.tool.id for one in more),
            len(known),
            tuple(one.name for one in servers if one.is_new),
            tuple(one.name for one in servers if one.failure),
        )

    def _related(self, owner: Owner, known: Sequence[KnownTool], found: Sequence[FoundTool]) -> list[FoundTool]:
        """The tools that are used after those found, and were not found themselves."""
        here = {one.tool.id for one in found}
        sure = self._usage.related(owner, here)
        tools = {one.id: one for one in known if one.id in sure and one.id not in here}
        first = sorted(tools, key=lambda one: (-sure[one], one))[:MOST_RELATED]
        return [FoundTool(tools[one], sure[one], "it is used after those found") for one in first]


def _known(tool: UpstreamTool) -> KnownTool:
    return KnownTool(tool.id, tool.title or "", tool.description, tool.input_schema)
