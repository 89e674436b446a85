"""Tools of other servers, for the protocol: called by their names, and listed if the operator chose them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from mcp_types import CallToolResult, Tool, ToolAnnotations

from loci.core.calls import Door, HowAsked
from loci.core.errors import LociError
from loci.core.giving_up import GivingUp
from loci.core.identity import Caller, Owner
from loci.core.json import Json, JsonObject
from loci.core.settings import Settings
from loci.mcp.answer_budget import ToolOfServer
from loci.mcp.caller import Report
from loci.search.language_stage import remark
from loci.tools.api import Tools
from loci.tools.gateway import wire_spelling
from loci.tools.policy import reads
from loci.tools.tool_server import UpstreamTool

LISTABLE = re.compile(r"[a-z0-9_]{1,64}")
"""One longer name in a list, and some clients refuse the whole list."""
MIRRORED = "x-mcp-header"
"""Lets clients send an argument as a header, too. Loci does not pass headers on."""

UNACCEPTED = "(Its server has changed this tool, and no person has accepted that.) "


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool that was called, as far as the keeping of its result needs it."""

    id: str
    reads: bool


class ServedTools:
    """`UpstreamTools` on the gateway."""

    def __init__(self, tools: Tools, settings: Settings) -> None:
        self._tools = tools
        self._patterns = settings.tools_listed
        self._colon = settings.tool_names == "colon"

    def call(
        self,
        caller: Caller,
        door: Door,
        name: str,
        arguments: JsonObject,
        report: Report,
        given_up: GivingUp,
        *,
        approved: bool,
        asking: HowAsked = "wait",
    ) -> CallToolResult:
        def progress(done: float, total: float | None, text: str | None) -> None:
            report(done, total, text or "")

        result = self._tools.call(
            caller, door, name, arguments, approved=approved, asking=asking, progress=progress, given_up=given_up
        )
        return CallToolResult.model_validate(result)

    def known(self, owner: Owner, name: str) -> ToolOfServer:
        try:
            tool = self._tools.gateway.described(owner, name)
        except LociError:  # its server has another list since
            return CalledTool(name, reads=False)
        return CalledTool(tool.id, reads=reads(tool))

    def listed(self, owner: Owner) -> Sequence[Tool]:
        found: dict[str, Tool] = {}
        for name, tool in self._tools.gateway.chosen(owner, self._patterns).items():
            listed = tool.id if self._colon else name
            if LISTABLE.fullmatch(wire_spelling(tool.id)) and (self._colon or LISTABLE.fullmatch(name)):
                found[listed] = _shown(tool, listed)
        return [found[name] for name in sorted(found)]


def _shown(tool: UpstreamTool, name: str) -> Tool:
    return Tool(
        name=name,
        title=remark(tool.title or ""),
        description=remark(f"{UNACCEPTED}{tool.description}" if tool.seen else tool.description),
        input_schema=cast("dict[str, Any]", _unmirrored(tool.input_schema)),
        annotations=ToolAnnotations.model_validate(tool.hints) if tool.hints else None,
    )


def _unmirrored(schema: Json) -> Json:
    match schema:
        case dict():
            return {name: _unmirrored(value) for name, value in schema.items() if name != MIRRORED}
        case list():
            return [_unmirrored(one) for one in schema]
        case _:
            return schema
