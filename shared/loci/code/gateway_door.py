"""The tools of Loci and of tool servers, for code."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from loci.code.bridge import OfferedTool
from loci.core.giving_up import GivingUp
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject

if TYPE_CHECKING:
    from loci.tools.api import Tools

MOST_TOOLS = 10
READING = (
    *("loci:search_documents", "loci:read_node_content", "loci:temporal_search", "loci:query_by_tags"),
    *("loci:explore_links", "loci:list_directory_structure"),
)
"""They read the caller's documents, and nothing else: every run has them."""


class GatewayDoor:
    """A `ToolDoor` to the gateway: a run gets the tools that fit its intent, and those that read documents."""

    def __init__(self, tools: "Callable[[], Tools]") -> None:
        self._tools = tools

    def offered(self, caller: Caller, intent: str | None) -> Sequence[OfferedTool]:
        fitting = list[OfferedTool]()
        if intent and intent.strip():
            found = self._tools().search(caller.owner, intent, limit=MOST_TOOLS, for_code=True)
            fitting = [OfferedTool(one.tool.id, one.why) for one in found.tools]
        return [*fitting, *(OfferedTool(id, by_default=True) for id in READING)]

    def call(self, caller: Caller, tool: str, arguments: JsonObject, given_up: GivingUp) -> Json:
        return self._tools().value(caller, "code", tool, arguments, given_up=given_up)
