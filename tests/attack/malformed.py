"""Bodies that are no message of MCP, each with the JSON-RPC code of its refusal."""

import json

from mcp_types import INVALID_REQUEST, PARSE_ERROR

from tests.attack.wire import rpc

PING = rpc("ping")
LARGEST = 4 * 1024 * 1024


def message(**members: object) -> bytes:
    """A ping with other members; one that is Ellipsis is left out."""
    whole = {"jsonrpc": "2.0", "id": 1, "method": "ping"} | members
    return json.dumps({name: value for name, value in whole.items() if value is not ...}).encode()


def nested(levels: int, core: bytes = b"") -> bytes:
    """A ping so deep, its own braces counted."""
    inside = levels - 2
    return PING[:-1] + b', "params": {"x": ' + b"[" * inside + core + b"]" * inside + b"}}"


def padded(size: int) -> bytes:
    """A ping of exactly so many bytes."""
    head, tail = PING[:-1] + b', "params": {"x": "', b'"}}'
    return head + b"x" * (size - len(head) - len(tail)) + tail


NOT_JSON = {
    "nothing": b"",
    "white space": b" \r\n\t",
    "cut off": PING[:-5],
    "cut off in a string": PING[:12],
    "garbage behind the message": PING + b"x",
    "garbage before the message": b"x" + PING,
    "two messages": PING + PING,
    "two messages on two lines": PING + b"\n" + PING,
    "brackets behind the message": PING + b"]",
    "NaN": PING[:-1] + b', "params": {"x": NaN}}',
    "Infinity": PING[:-1] + b', "params": {"x": -Infinity}}',
    "an integer of 5,000 digits": PING[:-1] + b', "params": {"x": ' + b"1" * 5000 + b"}}",
    "half a surrogate pair": message(params={"x": "\ud800"}),
    "half a surrogate pair in a name": message(params={"\udfff": 1}),
    "a byte order mark": b"\xef\xbb\xbf" + PING,
    "UTF-16": PING.decode().encode("utf-16"),
    "Latin-1": message(params={"x": "e"}).replace(b'"e"', b'"\xe9"'),
    "UTF-8 that is longer than it must be": message(params={"x": "e"}).replace(b'"e"', b'"\xc0\xaf"'),
    "a control character in a string": message(params={"x": "e"}).replace(b'"e"', b'"\x00"'),
    "single quotes": PING.replace(b'"', b"'"),
    "a comma too many": PING[:-1] + b",}",
    "101 levels": nested(101),
    "101 levels and a value": nested(101, b"1"),
    "100,000 levels": nested(100_000),
    "100,000 levels that are never closed": b"[" * 100_000,
    "100,000 objects": b'{"x":' * 100_000,
}
NO_MESSAGE = {
    "null": b"null",
    "a number": b"1",
    "a string": b'"ping"',
    "an empty list": b"[]",
    "more than a batch may hold": b"[" + b",".join([PING] * 51) + b"]",
    "an empty object": b"{}",
    "no jsonrpc": message(jsonrpc=...),
    "jsonrpc of another version": message(jsonrpc="1.0"),
    "jsonrpc as a number": message(jsonrpc=2.0),
    "no method": message(method=...),
    "a method that is a number": message(method=5),
    "a method that is null": message(method=None),
    "params in a list": message(params=[]),
    "params in a string": message(params="x"),
    "an id of null": message(id=None),
    "an id that is a fraction": message(id=1.5),
    "an id that is a boolean": message(id=True),
    "an id that is an object": message(id={}),
    "an infinite id": message(id="x").replace(b'"x"', b"1e999"),
    "a request that is a response": message(result={}),
    "a request that is an error": message(error={"code": 1, "message": "x"}),
    "a response without an id": message(method=..., id=..., result={}),
    "a response that is a list": message(method=..., result=[]),
    "a response and an error": message(method=..., result={}, error={"code": 1, "message": "x"}),
    "an error that is a string": message(method=..., error="x"),
    "an error with an id that is a fraction": message(method=..., id=0.5, error={"code": 1, "message": "x"}),
}
MALFORMED = [(name, body, PARSE_ERROR) for name, body in NOT_JSON.items()] + [
    (name, body, INVALID_REQUEST) for name, body in NO_MESSAGE.items()
]
