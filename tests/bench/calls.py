"""What the servers are asked: one tool on each wire, and the requests that come before it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tests.bench.events import HOST, Post

Wire = Literal["legacy json", "legacy sse", "2026-07-28"]
WIRES: tuple[Wire, ...] = ("legacy json", "legacy sse", "2026-07-28")
Tool = Literal["scratchpad_list", "scratchpad_read"]
TOOLS: tuple[Tool, ...] = ("scratchpad_list", "scratchpad_read")
LEGACY = "2025-11-25"
MODERN = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a server has to answer with a result."""

    wire: Wire
    tool: Tool
    entry: str
    """Which entry is read."""
    credential: str | None = None

    def post(self) -> Post:
        arguments = {"id": self.entry} if self.tool == "scratchpad_read" else {}
        return tool_call(self.wire, self.tool, arguments, self.credential)


def tool_call(wire: Wire, tool: str, arguments: Mapping[str, object], credential: str | None = None) -> Post:
    """A call of any tool."""
    return message("tools/call", wire, {"name": tool, "arguments": arguments}, credential)


def message(method: str, wire: Wire, params: Mapping[str, object], credential: str | None = None) -> Post:
    """A JSON-RPC request of that protocol era."""
    modern = wire == MODERN
    sent = {**params, "_meta": ENVELOPE} if modern else params
    headers = [
        ("Host", HOST),
        ("User-Agent", "bench"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json" if wire == "legacy json" else "application/json, text/event-stream"),
        ("Mcp-Protocol-Version", MODERN if modern else LEGACY),
    ]
    if modern:
        headers.append(("Mcp-Method", method))
    if modern and "name" in params:
        headers.append(("Mcp-Name", str(params["name"])))
    if credential is not None:
        headers.append(("Authorization", f"Bearer {credential}"))
    return Post(tuple(headers), json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": sent}))


def is_result(status: object, body: str) -> bool:
    """Whether a tool answered, rather than an error."""
    return status == 200 and '"structuredContent"' in body and '"isError":true' not in body
