"""The tools of Loci and of tool servers, for code."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from loci.code.bridge import OfferedTool
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject

if TYPE_CHECKING:
    from loci.tools.api import Tools

MOST_TOOLS = 10


class GatewayDoor:
    """A `ToolDoor` to the gateway: a run gets the tools that fit its intent."""

    def __init__(self, tools: "Callable[[], Tools]") -> None:
        self._tools = tools

    def offered(self, caller: Caller, intent: str | None) -> Sequence[OfferedTool]:
        if not intent or not intent.strip():
            return ()
        found = self._tools().search(caller.owner, intent, limit=MOST_TOOLS, for_code=True)
        return [OfferedTool(one.tool.id, one.why) for one in found.tools]

    def call(self, caller: Caller, tool: str, arguments: JsonObject) -> Json:
        return self._tools().value(caller, "code", tool, arguments)
