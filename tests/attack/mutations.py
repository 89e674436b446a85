"""Good requests made bad by chance: what Hypothesis draws from."""

import base64
import json
from collections.abc import Callable
from typing import Any, cast

import h11
from hypothesis import strategies as st

from tests.attack.doors import on_the_wire
from tests.attack.malformed import PING, nested
from tests.attack.wire import LEGACY, MODERN, Ask, call, initialize, legacy, modern, rpc

KEY = "THE-GOOD-KEY"
"""Stands in a request for a key that is good."""

GOOD = [
    legacy(PING, KEY),
    legacy(initialize(), KEY),
    legacy(rpc("tools/list", {}), KEY),
    legacy(call("scratchpad_list", {}), KEY),
    legacy(call("scratchpad_read", {"id": "0123456789ab", "offset": 1, "limit": 5}), KEY),
    legacy(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', KEY),
    legacy(b'{"jsonrpc": "2.0", "id": 1, "result": {}}', KEY),
    modern("tools/list", key=KEY),
    modern("server/discover", key=KEY),
    modern("tools/call", {"name": "scratchpad_read", "arguments": {"id": "0123456789ab"}}, KEY),
]
BODY_CHANGES = ["value", "member", "member", "method", "cut", "byte", "insert", "tail", "binary", "deep", "batch"]
CHANGES = ["header", "header", "line", "drop", "method", "path", "query"]
PATHS = "/mcp /mcp/documents /mcp/files /mcp/search /mcp/ /mcp// /mcp/x /mcpx /MCP /mcp/%2e%2e /mcp/%00 /mcp/%ff /"
QUERIES = (
    f"? ?apikey= ?apikey=x ?apikey={KEY} ?apikey={KEY}&apikey={KEY} ?api%6bey=x ?apikey=%ff%00 ?% ?apikey ?a;b=1&a"
)
METHODS = "GET PUT HEAD PATCH OPTIONS DELETE POST TRACE LOCK post X"
HEADERS = (
    "Authorization X-API-Key Content-Type Accept Mcp-Session-Id MCP-Protocol-Version Mcp-Method Mcp-Name Mcp-Param-Id"
    " Origin Last-Event-ID Content-Encoding Cookie Expect TE Range Access-Control-Request-Headers X-Forwarded-For"
)
VALUES = (
    f"|x|*/*|null|gzip|{LEGACY}|{MODERN}|2024-11-05|1999-01-01|application/json|text/event-stream|text/html|tools/list"
    f"|application/json; charset=utf-16|multipart/form-data|Basic eDp5|Bearer|Bearer |Bearer loci_x|Bearer a.b.c|{KEY}"
    f"|Bearer loci_0123456789ab_{'A' * 43}|Bearer  {KEY}|bearer {KEY}|http://localhost|http://[::1|https://evil.test"
    f"|=?base64?!!?=|100-continue|{'a' * 9000}"
)
MEMBERS = (
    "jsonrpc id method params _meta name arguments cursor uri protocolVersion capabilities clientInfo result error"
    " requestState inputResponses progressToken io.modelcontextprotocol/protocolVersion __proto__"
)
METHOD_NAMES = (
    "initialize ping tools/list tools/call resources/list resources/read prompts/list"
    " logging/setLevel server/discover subscriptions/listen tasks/get notifications/cancelled notifications/progress"
)

wild = st.text(st.characters(exclude_categories=()), max_size=20)
numbers = st.integers() | st.sampled_from([2**53, -(2**63), 10**400, -0.0, 1.5, float("inf"), float("nan")])
members = st.sampled_from(MEMBERS.split()) | wild
json_values = st.recursive(
    st.none() | st.booleans() | numbers | wild | st.sampled_from(["2.0", LEGACY, MODERN, *METHOD_NAMES.split()]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(members, inner, max_size=4),
    max_leaves=12,
)
printable = st.text([chr(code) for code in (*range(0x20, 0x7F), *range(0xA0, 0x100))], max_size=30)
header_values = st.sampled_from(VALUES.split("|")) | printable


@st.composite
def bodies(draw: st.DrawFn, good: bytes) -> bytes:
    """The body changed in one place, or another one altogether."""
    at = draw(st.integers(0, len(good)))
    match draw(
        st.sampled_from(
            ["value", "member", "member", "method", "cut", "byte", "insert", "tail", "binary", "deep", "batch"]
        )
    ):
        case "value":
            return json.dumps(draw(json_values)).encode()
        case "member":
            return _with_member(good, draw(st.booleans()), draw(members), draw(json_values))
        case "method":
            return _with_member(good, False, "method", draw(st.sampled_from(METHOD_NAMES.split())))
        case "cut":
            return good[:at]
        case "byte":
            return good[:at] + draw(st.binary(min_size=1, max_size=1)) + good[at + 1 :]
        case "insert":
            return good[:at] + draw(st.binary(min_size=1, max_size=8)) + good[at:]
        case "tail":
            return good + draw(st.sampled_from([b"}", b"}}\n", b"]", b"\0", b" null", b"\xff", b"}x", PING]))
        case "deep":
            return nested(
                draw(st.sampled_from([3, 99, 100, 101, 102, 1000, 5_000])), draw(st.sampled_from([b"", b"1"]))
            )
        case "batch":
            return b"[" + b",".join([good] * draw(st.integers(0, 3))) + b"]"
        case _:
            return draw(st.binary(max_size=60))


def _with_member(good: bytes, below: bool, name: str, value: object) -> bytes:
    """The message with one member more, or with another value for one."""
    message = cast("dict[str, object]", json.loads(good or b"{}"))
    params = message.get("params")
    place = cast("dict[str, object]", params) if below and isinstance(params, dict) else message
    place[name] = value
    return json.dumps(message).encode()


@st.composite
def asks(draw: st.DrawFn) -> Ask:
    """A good request with some changes."""
    ask = draw(st.sampled_from(GOOD))
    if draw(st.integers(0, 9)) < 6:
        ask = ask.saying(draw(bodies(ask.body)))
    for kind in draw(
        st.lists(st.sampled_from(["header", "header", "line", "drop", "method", "path", "query"]), max_size=3)
    ):
        name = draw(st.sampled_from(HEADERS.split()))
        match kind:
            case "header":
                ask = ask.having(name, draw(header_values))
            case "line":
                ask = ask.also(name, draw(header_values))
            case "drop":
                ask = ask.having(name, None)
            case "method":
                ask = ask.by(draw(st.sampled_from(METHODS.split())))
            case "path":
                ask = ask.at(draw(st.sampled_from(PATHS.split())))
            case _:
                ask = ask.at(ask.target.partition("?")[0] + draw(st.sampled_from(QUERIES.split())))
    return ask


class Bytes:
    """What goes over a socket; for which path, and whether it is a whole request of a size that a server reads."""

    def __init__(self, sent: bytes, method: str, path: str, whole: bool) -> None:
        self.sent = sent
        self.method = method
        self.path = path
        self.whole = whole

    def __repr__(self) -> str:  # Hypothesis would print all fields of a dataclass, however long
        return f"{self.sent[:2_000]!r} … {len(self.sent)} bytes"


LONGEST = 50_000
LENGTHS = ["-1", "x", "", "0", "1", "5", "+5", "9" * 30, "1e3", "7, 7", "0x10"]
VERSIONS = [b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"HTCPCP/1.0", b""]
LITTER = [b"\r\n", b"\n", b"\0", b" ", b":", b"\xff", b"X: y\r\n", b"\r\n\r\n"]


@st.composite
def wires(draw: st.DrawFn, key: str) -> Bytes:
    """A request as bytes, whose HTTP may be wrong as well."""
    ask = draw(asks())
    match draw(st.sampled_from(["as it is"] * 6 + ["length", "two lengths", "chunked", "chunked", "coding", "long"])):
        case "length":
            ask = ask.having("Content-Length", draw(st.sampled_from(LENGTHS)))
        case "two lengths":
            ask = ask.also("Content-Length", str(len(ask.body))).also("Content-Length", draw(st.sampled_from(LENGTHS)))
        case "chunked":
            pieces = b"%x\r\n%s\r\n0\r\n\r\n" % (len(ask.body), ask.body)
            ask = ask.having("Transfer-Encoding", "chunked").saying(pieces)
        case "coding":
            ask = ask.also("Transfer-Encoding", draw(st.sampled_from(["gzip", "chunked, gzip", "x", "chunked"])))
        case "long":
            ask = ask.also("X-Long", "x" * draw(st.sampled_from([1_000, 60_000, 70_000, 200_000])))
        case _:
            pass
    raw = on_the_wire(ask).replace(KEY.encode(), key.encode())
    at = draw(st.integers(0, raw.index(b"\r\n\r\n")))
    match draw(st.sampled_from(["as it is"] * 8 + ["byte", "litter", "version", "cut"])):
        case "byte":
            raw = raw[:at] + draw(st.binary(min_size=1, max_size=1)) + raw[at + 1 :]
        case "litter":
            raw = raw[:at] + draw(st.sampled_from(LITTER)) + raw[at:]
        case "version":
            raw = raw.replace(b"HTTP/1.1", draw(st.sampled_from(VERSIONS)), 1)
        case "cut":
            raw = raw[: draw(st.integers(1, len(raw)))]
        case _:
            pass
    return Bytes(raw, *_read(raw, ask))


def _read(raw: bytes, ask: Ask) -> tuple[str, str, bool]:
    """Method and path as a server reads them, and whether it must answer: for what is missing it may wait."""
    if len(raw) > LONGEST:
        return ask.method, "", False
    reader = h11.Connection(h11.SERVER)
    reader.receive_data(raw)
    method, path = ask.method, ""
    try:
        while (event := reader.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Request):
                method, path = event.method.decode(), event.target.decode().partition("?")[0]
            elif isinstance(event, h11.EndOfMessage):
                return method, path, True
    except h11.RemoteProtocolError:
        return method, path, True
    return method, path, False


@st.composite
def events(draw: st.DrawFn, event_of: Callable[[Ask], dict[str, Any]], key: str) -> dict[str, Any]:
    """An event of API Gateway, which may leave out what it sometimes leaves out."""
    event: dict[str, Any] = json.loads(json.dumps(event_of(draw(asks()))).replace(KEY, key))
    if event.get("body") and not event["isBase64Encoded"] and draw(st.booleans()):
        event |= {"body": base64.b64encode(event["body"].encode()).decode(), "isBase64Encoded": True}
    match draw(st.sampled_from(["as it is", "as it is", "less", "no body", "nothing"])):
        case "less":
            for name in draw(
                st.sets(st.sampled_from(["stageVariables", "pathParameters", "cookies", "isBase64Encoded"]))
            ):
                event.pop(name, None)
        case "no body":
            event |= {"body": None, "isBase64Encoded": False}
        case "nothing" if "multiValueHeaders" in event:  # as the console's test of a REST API sends what is left empty
            empty = ["body", "headers", "multiValueHeaders", "queryStringParameters", "multiValueQueryStringParameters"]
            event |= dict.fromkeys(empty)
        case _:
            pass
    return event
