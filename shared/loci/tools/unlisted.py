"""Upstream tools, as the server calls them: by their names, unlisted."""

from mcp_types import CallToolResult

from loci.core.identity import Caller
from loci.core.json import JsonObject
from loci.mcp.report import Report
from loci.tools.api import Tools


class UpstreamCalls:
    """`UnlistedTools` of the gateway."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def call(self, caller: Caller, name: str, arguments: JsonObject, report: Report) -> tuple[str, CallToolResult]:
        def progress(done: float, total: float | None, text: str | None) -> None:
            report(done, total, text or "")

        id, result = self._tools.call(caller.owner, name, arguments, progress=progress)
        return id, CallToolResult.model_validate(result)
