"""Requests as they go over the wire, and what comes back."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
JSON_TYPE = "application/json"
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """One HTTP request."""

    body: bytes = b""
    headers: Headers = ()
    method: str = "POST"
    target: str = "/mcp"

    def having(self, name: str, value: str | None) -> "Ask":
        """The same request with one value for that header; None takes it out."""
        others = tuple(pair for pair in self.headers if pair[0].lower() != name.lower())
        return replace(self, headers=others if value is None else (*others, (name, value)))

    def also(self, name: str, value: str) -> "Ask":
        """The same request with one header line more."""
        return replace(self, headers=(*self.headers, (name, value)))

    def by(self, method: str) -> "Ask":
        return replace(self, method=method)

    def at(self, target: str) -> "Ask":
        return replace(self, target=target)

    def saying(self, body: bytes) -> "Ask":
        return replace(self, body=body)


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP response."""

    status: int
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        """The values of that header, joined; None where there is none."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        return ", ".join(values) if values else None

    @property
    def message(self) -> Any:
        """The JSON-RPC message in it, which may be an event of a stream."""
        text = self.body.decode()
        if (self.header("content-type") or "").startswith("text/event-stream"):
            text = next(line for line in reversed(text.splitlines()) if line.startswith("data:")).removeprefix("data:")
        return json.loads(text)

    @property
    def code(self) -> int | None:
        """The code of the JSON-RPC error; None where the body is none of these."""
        if self.header("content-type") != JSON_TYPE or not self.body:
            return None
        match json.loads(self.body):
            case {"jsonrpc": "2.0", "id": _, "error": {"code": int(code), "message": str()}}:
                return code
            case _:
                return None

    @property
    def tool_code(self) -> str | None:
        """The code of a tool's error; None where the tool did not fail."""
        result = self.message["result"]
        return result["_meta"]["loci/error"]["code"] if result.get("isError") else None


def rpc(method: str, params: object = None, id: object = 1) -> bytes:
    """A request of the handshake revisions."""
    message: dict[str, object] = {"jsonrpc": "2.0", "id": id, "method": method}
    return json.dumps(message if params is None else message | {"params": params}).encode()


def legacy(body: bytes, key: str | None = None) -> Ask:
    """The body, sent as a client of a handshake revision sends it."""
    ask = Ask(body, (("Host", "127.0.0.1"), ("Content-Type", JSON_TYPE), ("Accept", JSON_TYPE)))
    return ask if key is None else ask.having("Authorization", f"Bearer {key}")


def modern(method: str, params: dict[str, Any] | None = None, key: str | None = None) -> Ask:
    """A request of the newest revision, with the headers that mirror its body."""
    meta: dict[str, object] = {PROTOCOL_VERSION_META_KEY: MODERN, CLIENT_CAPABILITIES_META_KEY: {}}
    ask = legacy(rpc(method, {**(params or {}), "_meta": meta}), key)
    ask = ask.having("MCP-Protocol-Version", MODERN).having("Mcp-Method", method)
    return ask.having("Mcp-Name", str(params["name"])) if params and "name" in params else ask


def call(tool: object, arguments: object, id: object = 1) -> bytes:
    """A tool call of the handshake revisions."""
    return rpc("tools/call", {"name": tool, "arguments": arguments}, id)


def initialize(version: object = LEGACY) -> bytes:
    """The first request of a handshake."""
    client = {"name": "attack", "version": "1"}
    return rpc("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})


def begun(ask: Callable[[Ask], Answer], key: str | None = None) -> str:
    """The id of a new session."""
    id = ask(legacy(initialize(), key)).header("mcp-session-id")
    assert id is not None
    return id
