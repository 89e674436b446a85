"""Tools of other servers, as the protocol serves them: called by their names, and listed if somebody chose them."""

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Protocol

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, Tool

from loci.core.cancellation import Cancellation
from loci.core.errors import Refused
from loci.core.identity import Caller, Owner
from loci.core.json import JsonObject
from loci.core.seen import visible
from loci.core.telemetry import Door, HowAsked
from loci.mcp.answers import ToolAnswer, ToolOfServer
from loci.mcp.approval import APPROVAL_NEEDED, APPROVAL_PENDING, ask_person, show_page, was_approved, way_to_ask
from loci.mcp.caller import ProgressReport, caller_of, report_to
from loci.mcp.threads import UPSTREAM, while_wanted

LONGEST_SHOWN: Final = 4000
"""Characters of arguments in a client's dialogue. The page shows longer ones."""


class UpstreamTools(Protocol):
    """The tools of each owner's servers. The implementation logs its calls."""

    def call(
        self,
        caller: Caller,
        door: Door,
        name: str,
        arguments: JsonObject,
        report: ProgressReport,
        cancelled: Cancellation,
        *,
        approved: bool,
        asking: HowAsked = "wait",
    ) -> CallToolResult:
        """Call the tool, and return its result untouched. Raises `LociError` if nothing was called.

        `approved`: a person has approved this call; without it, some calls are refused as `APPROVAL_NEEDED`.
        """
        ...

    def known(self, owner: Owner, name: str) -> ToolOfServer:
        """The tool behind a name that was called."""
        ...

    def listed(self, owner: Owner) -> Sequence[Tool]:
        """The tools that are listed beside Loci's own. Waits for no server."""
        ...


async def call_upstream(
    tools: UpstreamTools, context: Context[Any, Any], door: Door, name: str, arguments: JsonObject
) -> ToolAnswer:
    """Call the tool for the client of this request. If a person must approve it, ask them."""
    report = report_to(context, asyncio.get_running_loop())
    call = partial(tools.call, caller_of(context.request_context), door, name, arguments, report)

    async def called(way: HowAsked) -> ToolAnswer:
        try:
            return await while_wanted(partial(call, approved=was_approved(context), asking=way), UPSTREAM)
        except Refused as refusal:
            if refusal.code != APPROVAL_PENDING:
                raise
            return await show_page(context, refusal)

    try:
        return await called(way_to_ask(context))
    except Refused as refusal:
        if refusal.code != APPROVAL_NEEDED:
            raise
        shown = visible(json.dumps(arguments, ensure_ascii=False))
        if len(shown) > LONGEST_SHOWN:
            return await called("wait")
        question = await ask_person(context, refusal, f". Its arguments are {shown}")
    return question or await while_wanted(partial(call, approved=True), UPSTREAM)
