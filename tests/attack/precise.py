"""Requests that are wrong in one way, each with the status and the JSON-RPC code of its refusal."""

from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
)

from tests.attack.malformed import PING, message
from tests.attack.wire import LEGACY, MODERN, Ask, call, initialize, legacy, modern, rpc

ping = legacy(PING)
bare = legacy(b"")
listing = modern("tools/list")
NOTHING_MORE: dict[str, object] = {"notifications": {}}

PRECISE: dict[str, tuple[Ask, int, int]] = {
    "unknown method": (legacy(rpc("nope")), 200, METHOD_NOT_FOUND),
    "unknown modern method": (modern("nope"), 404, METHOD_NOT_FOUND),
    "a method that is no more": (modern("ping"), 404, METHOD_NOT_FOUND),
    "a handshake that is no more": (modern("initialize"), 404, METHOD_NOT_FOUND),
    "a stream without an end": (modern("subscriptions/listen", NOTHING_MORE), 404, METHOD_NOT_FOUND),
    "initialize without params": (legacy(rpc("initialize")), 200, INVALID_PARAMS),
    "initialize at version 5": (legacy(initialize(5)), 200, INVALID_PARAMS),
    "a call without a name": (legacy(rpc("tools/call", {"arguments": {}})), 200, INVALID_PARAMS),
    "a call of a number": (legacy(call(5, {})), 200, INVALID_PARAMS),
    "a modern call without a name": (modern("tools/call", {"arguments": {}}), 400, INVALID_PARAMS),
    "arguments in a list": (legacy(call("scratchpad_list", [])), 200, INVALID_PARAMS),
    "a cursor that is a number": (legacy(rpc("tools/list", {"cursor": 5})), 200, INVALID_PARAMS),
    "_meta that is a number": (legacy(rpc("tools/list", {"_meta": 5})), 200, INVALID_PARAMS),
    "a forged state": (
        modern("tools/call", {"name": "scratchpad_list", "requestState": "forged"}),
        400,
        INVALID_PARAMS,
    ),
    "unknown version": (ping.having("MCP-Protocol-Version", "1999-01-01"), 400, UNSUPPORTED_PROTOCOL_VERSION),
    "empty version": (ping.having("MCP-Protocol-Version", ""), 400, UNSUPPORTED_PROTOCOL_VERSION),
    "a notification of an unknown version": (
        legacy(message(id=...)).having("MCP-Protocol-Version", "1999-01-01"),
        400,
        UNSUPPORTED_PROTOCOL_VERSION,
    ),
    "a modern request without _meta": (ping.having("MCP-Protocol-Version", MODERN), 400, INVALID_PARAMS),
    "a version in the body only": (listing.having("MCP-Protocol-Version", None), 400, HEADER_MISMATCH),
    "another version in the header": (listing.having("MCP-Protocol-Version", LEGACY), 400, HEADER_MISMATCH),
    "an unknown one in the header": (listing.having("MCP-Protocol-Version", "2099-01-01"), 400, HEADER_MISMATCH),
    "another method in the header": (listing.having("Mcp-Method", "tools/call"), 400, HEADER_MISMATCH),
    "no method in a header": (listing.having("Mcp-Method", None), 400, HEADER_MISMATCH),
    "another tool in the header": (
        modern("tools/call", {"name": "scratchpad_list"}).having("Mcp-Name", "scratchpad_read"),
        400,
        HEADER_MISMATCH,
    ),
    "text/plain": (ping.having("Content-Type", "text/plain"), 415, INVALID_REQUEST),
    "no type": (ping.having("Content-Type", None), 415, INVALID_REQUEST),
    "two types": (ping.having("Content-Type", "application/json, text/plain"), 415, INVALID_REQUEST),
    "only HTML is accepted": (ping.having("Accept", "text/html"), 406, INVALID_REQUEST),
    "another host": (ping.having("Host", "evil.test"), 421, INVALID_REQUEST),
    "a longer host": (ping.having("Host", "loci.test.evil.test"), 421, INVALID_REQUEST),
    "a host that is none": (ping.having("Host", 'loci.test", realm="x'), 400, INVALID_REQUEST),
    "another origin": (ping.having("Origin", "https://evil.test"), 403, INVALID_REQUEST),
    "a longer origin": (ping.having("Origin", "http://localhost.evil.test"), 403, INVALID_REQUEST),
    "an origin of half an address": (ping.having("Origin", "http://["), 403, INVALID_REQUEST),
    "an origin of null": (ping.having("Origin", "null"), 403, INVALID_REQUEST),
    "unknown path": (ping.at("/mcp/nope"), 404, INVALID_REQUEST),
    "unknown path beside": (ping.at("/mcpx"), 404, INVALID_REQUEST),
    "dots in the path": (ping.at("/mcp/../mcp"), 404, INVALID_REQUEST),
    "empty session": (ping.having("Mcp-Session-Id", ""), 404, INVALID_REQUEST),
    "forged session": (ping.having("Mcp-Session-Id", "eyJuIjoieCJ9.AAAA"), 404, INVALID_REQUEST),
    "a session beyond ASCII": (ping.having("Mcp-Session-Id", "\xe9"), 404, INVALID_REQUEST),
    "50 KB of session": (ping.having("Mcp-Session-Id", "x" * 50_000), 404, INVALID_REQUEST),
    "DELETE of no session": (bare.by("DELETE"), 400, INVALID_REQUEST),
    "DELETE of a forged session": (bare.by("DELETE").having("Mcp-Session-Id", "x"), 404, INVALID_REQUEST),
    "a modern DELETE": (bare.by("DELETE").having("MCP-Protocol-Version", MODERN), 405, INVALID_REQUEST),
}
