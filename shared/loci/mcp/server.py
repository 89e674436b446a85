"""The MCP server."""

import json
import logging
import time
from collections.abc import Sequence
from typing import Any

from mcp.server import MCPServer
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import Context, RequestStateSecurity
from mcp.server.mcpserver import server as sdk
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    Prompt,
    ResourceTemplate,
    TextContent,
    Tool,
)

from loci.app import App
from loci.core.version import version
from loci.documents.guidance import DOCUMENTS
from loci.documents.prompt_templates import BY_NAME
from loci.documents.resources import TEMPLATES, serve_documents
from loci.mcp.answer_budget import within_budget
from loci.mcp.call_errors import FailedCall, ToolAnswer, attempt, unknown_tool
from loci.mcp.caller import caller_of, principal
from loci.mcp.prompts import listed, prompted
from loci.mcp.tool import Surface
from loci.mcp.tool_catalog import ToolCatalog, ToolFamily
from loci.tools_list import families

# The SDK would put a handler of its own on the root logger, and load rich for it (17 ms): Loci logs by itself.
setattr(sdk, "configure_logging", logging.getLogger)  # noqa: B010 (the name is the SDK's own)

INSTRUCTIONS = """\
Loci keeps what you learn and runs what you need, behind one endpoint.

Results too large for an answer are kept whole for you. Such an answer ends with \
"Results cached. Use scratchpad_read('<id>') for full output" and carries `scratchpad_id`:
- scratchpad_read(id, offset, limit): the whole result, or a part of it. Read parts when you need parts.
- scratchpad_list(): what is kept. Look here before you repeat an expensive call.

Errors read "CODE: what happened. What to do." Do what the last sentence says, then call again."""


def build_server(app: App, surface: Surface = "all", offered: Sequence[ToolFamily] | None = None) -> "LociServer":
    """The server of one endpoint, for stdio, HTTP and Lambda alike."""
    offer = ToolCatalog(families(app) if offered is None else offered, surface)
    return LociServer(app, offer, has_documents=surface in ("all", "documents"))


class LociServer(MCPServer[Any]):
    """The SDK's server with Loci's names, errors, budgets and telemetry around each call."""

    def __init__(self, app: App, offer: ToolCatalog, *, has_documents: bool) -> None:
        self._app = app
        self._has_documents = has_documents
        self._offer = offer
        super().__init__(
            "loci",
            title="Loci",
            version=version(),
            instructions=INSTRUCTIONS + (DOCUMENTS if has_documents else ""),
            # Nothing may stay open on Lambda.
            subscriptions=False,
            request_state_security=RequestStateSecurity(
                keys=app.keyring.keys("request-state"), bind_principal=principal
            ),
            cache_hints={"tools/list": CacheHint(ttl_ms=300_000), "server/discover": CacheHint(ttl_ms=300_000)},
            log_level="WARNING",
        )
        if has_documents:
            serve_documents(self._lowlevel_server, app)

    async def serve(
        self, requests: ReadStream[SessionMessage | Exception], answers: WriteStream[SessionMessage]
    ) -> None:
        """Serve one client over a pair of streams."""
        inner = self._lowlevel_server
        await inner.run(requests, answers, inner.create_initialization_options())

    def is_quick(self, name: str) -> bool:
        """Whether calls of this tool are soon done and say nothing before they are."""
        door = self._offer.find(name)
        return door is None or door.quick

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Answer the call, whichever way it spells the tool's name."""
        if context is None:
            context = Context(mcp_server=self)
        started = time.perf_counter()

        async def call() -> ToolAnswer:
            door = self._offer.find(name)
            if door is None:
                raise unknown_tool(name, self._offer.names)
            answer = door.answer(await door.tool.run(arguments, context))
            if not isinstance(answer, CallToolResult):
                return answer
            return await within_budget(door, answer, caller_of(context.request_context).owner, self._app.scratchpad)

        answer = await attempt(call)
        self._tell(name, arguments, context, answer, (time.perf_counter() - started) * 1000)
        return answer.result if isinstance(answer, FailedCall) else answer

    async def list_tools(self) -> list[Tool]:
        """All tools, in the order of their names."""
        colon = self._app.settings.tool_names == "colon"
        return [
            Tool(
                name=door.id if colon else door.tool.name,
                title=door.tool.title,
                description=door.tool.description,
                input_schema=door.tool.parameters,
                output_schema=door.tool.output_schema,
                annotations=door.tool.annotations,
            )
            for door in self._offer.all()
        ]

    def _tool_input_schema(self, name: str) -> dict[str, Any] | None:
        """What the SDK holds the headers of a call to, before the call."""
        door = self._offer.find(name)
        return door.tool.parameters if door else None

    async def list_prompts(self) -> list[Prompt]:
        """The ways to work with documents, where there are documents."""
        return [*(listed() if self._has_documents else ()), *await super().list_prompts()]

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """How documents are named, where there are documents."""
        return [*(TEMPLATES if self._has_documents else ()), *await super().list_resource_templates()]

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """The prompt; the SDK takes an unknown name for a crash of the server."""
        if self._has_documents and name in BY_NAME:
            return prompted(BY_NAME[name], arguments or {}, self._offer.names)
        if name not in {prompt.name for prompt in await self.list_prompts()}:
            raise MCPError(INVALID_PARAMS, "There is no prompt of that name: use prompts/list")
        return await super().get_prompt(name, arguments, context)

    def _tell(
        self,
        name: str,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        answer: ToolAnswer | FailedCall,
        ms: float,
    ) -> None:
        failure = answer if isinstance(answer, FailedCall) else None
        result = answer.result if isinstance(answer, FailedCall) else answer
        if failure and failure.bug:
            self._app.telemetry.bug(name[:80], failure.bug)
        self._app.telemetry.call(
            # A name that is no tool's is the caller's text.
            tool=self._offer.name(name) or "unknown",
            owner=caller_of(context.request_context).owner.key,
            ms=ms,
            outcome="ok" if failure is None else "bug" if failure.bug else "error",
            code=failure.code if failure else "",
            asked=len(json.dumps(arguments)),
            answered=_text_size(result),
        )


def _text_size(result: ToolAnswer) -> int:
    if not isinstance(result, CallToolResult):
        return 0
    return sum(len(block.text) for block in result.content if isinstance(block, TextContent))
