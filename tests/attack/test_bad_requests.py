"""What is refused, with which status and which JSON-RPC error: the same behind each door."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from mcp_types import HEADER_MISMATCH, INVALID_REQUEST

from tests.attack.conftest import Doors, few_or_all
from tests.attack.doors import Door, LambdaDoor, UvicornDoor
from tests.attack.malformed import LARGEST, MALFORMED, PING, message, nested, padded
from tests.attack.mutations import Bytes, events, wires
from tests.attack.precise import PRECISE
from tests.attack.wire import LEGACY, MODERN, Answer, Ask, begun, call, initialize, legacy, modern
from tests.support.each import each

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY]
bare = legacy(b"")


def refused(answer: Answer) -> tuple[int, int | None]:
    """The status, and the code of the JSON-RPC error; None where the body is none."""
    return answer.status, answer.code


@each(("body", "code"), [pytest.param(body, code, id=name) for name, body, code in MALFORMED])
def test_a_body_that_is_no_message_is_refused(door: Door, ann: str, body: bytes, code: int) -> None:
    assert refused(door.ask(legacy(body, ann))) == (400, code)


@each(("body", "told"), [(b"{", "Check the format"), (message(method=5), "which is a string")])
def test_a_refusal_says_what_to_check(door: Door, ann: str, body: bytes, told: str) -> None:
    assert told in door.ask(legacy(body, ann)).message["error"]["message"]


@each("body", [message(jsonrpc=...), message(method=5), message(params=[]), message(result={})])
def test_a_refusal_names_the_request_where_it_can(door: Door, ann: str, body: bytes) -> None:
    assert door.ask(legacy(body, ann)).message["id"] == 1


@each(
    "body",
    [
        pytest.param(PING + b"}", id="a brace too many"),
        pytest.param(PING + b"}} \n", id="two braces too many, and white space"),
        pytest.param(b" \n" + PING + b"\r\n ", id="white space around"),
        pytest.param(nested(100), id="100 levels"),
        pytest.param(padded(LARGEST), id="as large as can be"),
        pytest.param(message(params=None), id="params of null"),
        pytest.param(message(id=""), id="an empty id"),
        pytest.param(message(id="x").replace(b'"x"', b"1" * 4000), id="an id of 4,000 digits"),
        pytest.param(message(params={"x": "[" * 5000 + "\ud83d\ude00"}), id="brackets and a surrogate pair"),
    ],
)
def test_what_can_be_understood_is_answered(door: Door, ann: str, body: bytes) -> None:
    assert door.ask(legacy(body, ann)).message["result"] == {}


def members(number: int) -> bytes:
    """A ping with about so many members."""
    return message(params={f"k{at}": at for at in range(number)})


TOO_MANY = {
    "in an object": members(200_000),
    "in an array": message(params={"x": [0] * 100_001}),
    "arrays": message(params={"x": [[1]] * 50_001}),
    "empty arrays": PING[:-1] + b', "params": {"x": [' + b"[]," * 50_001 + b"[]]}}",
    "strings": message(params={"x": [""] * 250_000}),
    # The parser would refuse it for its end.
    "before it is parsed": members(100_001)[:-1] + b"!",
}


@each("name", TOO_MANY)
def test_too_many_members_are_refused(door: Door, ann: str, name: str) -> None:
    answer = door.ask(legacy(TOO_MANY[name], ann))
    assert refused(answer) == (413, INVALID_REQUEST)
    assert "more than 100000 members" in answer.message["error"]["message"]


TAKEN = {
    "many members": members(99_000),
    "many arrays": message(params={"x": [[1]] * 49_000}),
    "a long text": message(params={"x": "[{,:}]" * 690_000}),
    "a long text of quotes": message(params={"x": '"' * 2_000_000}),
    "a long text of backslashes": message(params={"x": "\\" * 2_000_000}),
    "a text that ends in a backslash": message(params={"x": ["\\", '\\"', "[" * 200_000]}),
    "a long text of escapes": message(params={"x": '\\",[' * 400_000 + "\u2028" * 80_000}),
}


@each("name", TAKEN)
def test_few_members_are_taken_however_long_they_are(door: Door, ann: str, name: str) -> None:
    assert door.ask(legacy(TAKEN[name], ann)).message["result"] == {}


def test_too_large_a_body_is_refused(door: Door, ann: str) -> None:
    assert refused(door.ask(legacy(padded(LARGEST + 1), ann))) == (413, INVALID_REQUEST)


def test_too_large_a_body_is_refused_before_it_is_sent(doors: Doors, ann: str) -> None:
    declared = legacy(b"", ann).having("Content-Length", str(LARGEST + 1))
    assert refused(doors.uvicorn.ask(declared)) == (413, INVALID_REQUEST)


def test_too_large_a_body_is_refused_though_it_declares_no_length(doors: Doors, ann: str) -> None:
    pieces = b"".join(b"100000\r\n" + b"x" * 0x100000 + b"\r\n" for _ in range(4)) + b"1\r\nx\r\n"
    chunked = legacy(pieces, ann).having("Transfer-Encoding", "chunked")
    assert refused(doors.uvicorn.ask(chunked)) == (413, INVALID_REQUEST)


@each(("ask", "status", "code"), [pytest.param(*row, id=name) for name, row in PRECISE.items()])
def test_a_bad_request_is_answered_precisely(door: Door, ann: str, ask: Ask, status: int, code: int) -> None:
    answer = door.ask(ask.having("Authorization", f"Bearer {ann}"))
    assert (answer.header("content-type"), refused(answer)) == ("application/json", (status, code))


def test_a_session_id_beyond_what_a_gateway_passes_on_is_refused(doors: Doors, ann: str) -> None:
    asked = legacy(PING, ann).having("Mcp-Session-Id", "x" * 100_000)
    assert refused(doors.http.ask(asked)) == (404, INVALID_REQUEST)


@each("version", ["1999-01-01", "2099-12-31", "", "latest"])
def test_a_handshake_in_an_unknown_revision_agrees_on_a_known_one(door: Door, ann: str, version: str) -> None:
    answer = door.ask(legacy(initialize(version), ann))
    assert answer.message["result"]["protocolVersion"] == LEGACY


@each("version", REVISIONS)
def test_a_handshake_keeps_a_known_revision(door: Door, ann: str, version: str) -> None:
    assert door.ask(legacy(initialize(version), ann)).message["result"]["protocolVersion"] == version


def test_an_unknown_revision_is_told_which_are_known(door: Door, ann: str) -> None:
    answer = door.ask(legacy(PING, ann).having("MCP-Protocol-Version", "1999-01-01"))
    assert answer.message["error"]["data"] == {"supported": [MODERN], "requested": "1999-01-01"}


@each(
    ("name", "arguments", "code"),
    [
        ("nope", {}, "TOOL_NOT_FOUND"),
        ("", {}, "TOOL_NOT_FOUND"),
        ("scratchpad_read\0", {}, "TOOL_NOT_FOUND"),
        ("scratchpad_read", {}, "INVALID_PARAMS"),
        ("scratchpad_read", {"id": 5}, "INVALID_PARAMS"),
        ("scratchpad_read", {"id": "x", "offset": -1}, "INVALID_PARAMS"),
        ("scratchpad_read", {"id": "x", "offset": "y"}, "INVALID_PARAMS"),
        ("scratchpad_read", {"id": "x", "offset": 10**400}, "SCRATCHPAD_NOT_FOUND"),
        ("scratchpad_read", {"id": "x", "caller": {"owner": "bob"}}, "INVALID_PARAMS"),
    ],
)
def test_a_bad_call_fails_as_a_result(door: Door, ann: str, name: str, arguments: object, code: str) -> None:
    assert door.ask(legacy(call(name, arguments), ann)).tool_code == code


@each("name", ["Authorization", "Mcp-Session-Id", "MCP-Protocol-Version", "Content-Type", "X-API-Key", "Origin"])
def test_a_header_that_comes_twice_is_refused(doors: Doors, ann: str, name: str) -> None:
    asked = legacy(PING, ann).having(name, "x").also(name.lower(), "x")
    code = HEADER_MISMATCH if name.lower().startswith("mcp-") else INVALID_REQUEST
    assert refused(doors.uvicorn.ask(asked)) == (400, code)


@each(
    ("name", "value", "status"),
    [
        ("Authorization", "Bearer x", 401),
        ("Mcp-Session-Id", "x", 404),
        ("MCP-Protocol-Version", LEGACY, 400),
        ("Content-Type", "application/json", 415),
    ],
)
def test_a_header_that_a_gateway_has_joined_is_refused(
    doors: Doors, ann: str, name: str, value: str, status: int
) -> None:
    asked = legacy(PING, ann).having(name, value).also(name, value)
    assert [door.ask(asked).status for door in (doors.rest, doors.http)] == [status, status]


@each("method", ["GET", "PUT", "PATCH", "OPTIONS", "TRACE", "NONSENSE"])
def test_another_method_is_refused_at_once(door: Door, method: str) -> None:
    answer = door.ask(bare.by(method).having("Accept", "text/event-stream"))
    assert (refused(answer), answer.header("allow")) == ((405, INVALID_REQUEST), "POST, DELETE")


def test_a_head_request_is_refused_without_a_body(doors: Doors) -> None:
    answer = doors.uvicorn.ask(bare.by("HEAD"))
    assert (answer.status, answer.header("allow"), answer.body) == (405, "POST, DELETE", b"")


def test_without_accept_the_answer_is_json(door: Door, ann: str) -> None:
    assert door.ask(legacy(PING, ann).having("Accept", None)).header("content-type") == "application/json"


def test_a_session_that_was_ended_is_unknown(door: Door, ann: str) -> None:
    asked = legacy(PING, ann).having("Mcp-Session-Id", begun(door.ask, ann))
    assert door.ask(asked.by("DELETE").saying(b"")).status == 204
    assert refused(door.ask(asked)) == (404, INVALID_REQUEST)


def test_a_session_ends_once(door: Door, ann: str) -> None:
    end = legacy(b"", ann).by("DELETE").having("Mcp-Session-Id", begun(door.ask, ann))
    assert [door.ask(end).status for _ in range(2)] == [204, 404]


def test_a_session_of_somebody_else_is_unknown(door: Door, ann: str, bob: str) -> None:
    asked = legacy(PING, bob).having("Mcp-Session-Id", begun(door.ask, ann))
    assert refused(door.ask(asked)) == (404, INVALID_REQUEST)


def test_somebody_else_cannot_end_a_session(door: Door, ann: str, bob: str) -> None:
    session = begun(door.ask, ann)
    door.ask(legacy(b"", bob).by("DELETE").having("Mcp-Session-Id", session))
    assert door.ask(legacy(PING, ann).having("Mcp-Session-Id", session)).status == 200


def test_a_session_id_that_was_tampered_with_is_unknown(door: Door, ann: str) -> None:
    session = begun(door.ask, ann)
    changed = ("A" if session[0] != "A" else "B") + session[1:]
    assert refused(door.ask(legacy(PING, ann).having("Mcp-Session-Id", changed))) == (404, INVALID_REQUEST)


def test_the_newest_revision_ignores_a_session_id(door: Door, ann: str) -> None:
    assert door.ask(modern("tools/list", key=ann).having("Mcp-Session-Id", "forged")).status == 200


def test_a_notification_is_taken_without_an_answer(door: Door, ann: str) -> None:
    answer = door.ask(legacy(message(id=..., method="notifications/initialized"), ann))
    assert (answer.status, answer.body) == (202, b"")


def test_a_modern_notification_is_taken_without_an_answer(door: Door, ann: str) -> None:
    asked = legacy(message(id=..., method="notifications/x"), ann).having("MCP-Protocol-Version", MODERN)
    assert door.ask(asked).status == 202


@each("body", [message(method=..., result={}), message(method=..., error={"code": 1, "message": "x"})])
def test_a_response_is_taken_without_an_answer(door: Door, ann: str, body: bytes) -> None:
    assert door.ask(legacy(body, ann)).status == 202


def test_the_newest_revision_takes_no_responses(door: Door, ann: str) -> None:
    asked = legacy(message(method=..., result={}), ann).having("MCP-Protocol-Version", MODERN)
    assert refused(door.ask(asked)) == (400, INVALID_REQUEST)


def test_a_page_of_an_allowed_origin_may_ask_what_it_may_send(door: Door) -> None:
    asked = bare.by("OPTIONS").having("Origin", "https://app.loci.test")
    answer = door.ask(asked.having("Access-Control-Request-Headers", "authorization, content-type"))
    assert (answer.status, answer.body) == (204, b"")
    assert answer.header("access-control-allow-origin") == "https://app.loci.test"
    assert answer.header("access-control-allow-headers") == "authorization, content-type"


@each("origin", ["https://evil.test", "http://localhost:6274", "http://app.loci.test"])
def test_a_foreign_page_may_not_ask(door: Door, origin: str) -> None:
    answer = door.ask(bare.by("OPTIONS").having("Origin", origin))
    assert (refused(answer), answer.header("access-control-allow-origin")) == ((403, INVALID_REQUEST), None)


def test_rebinding_a_name_to_the_loopback_gains_nothing(at_home: UvicornDoor) -> None:
    assert refused(at_home.ask(legacy(PING).having("Host", "evil.test"))) == (421, INVALID_REQUEST)


def test_a_foreign_page_gains_nothing_on_the_loopback(at_home: UvicornDoor) -> None:
    assert refused(at_home.ask(legacy(PING).having("Origin", "https://evil.test"))) == (403, INVALID_REQUEST)


BY_CHANCE = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
FEW = 200
"""Requests at each door; 4,000 are all."""
ENDPOINTS = ("/mcp", "/mcp/core", "/mcp/documents", "/mcp/files", "/mcp/tools", "/mcp/search")


def holds(answer: Answer, method: str, path: str) -> bool:
    """Whether the client is never to blame the server, and is told in JSON-RPC what it did wrong."""
    explained = answer.code is not None if answer.status >= 400 and method != "HEAD" else True
    return answer.status < 500 and (explained or path not in ENDPOINTS)


@few_or_all
def test_no_bytes_on_a_socket_break_the_server(doors: Doors, ann: str, few: bool) -> None:
    seen: list[int] = []
    drawn = FEW if few else 2_000

    @settings(BY_CHANCE, max_examples=drawn)
    @given(wires(ann))
    def ask(request: Bytes) -> None:
        answer = doors.uvicorn.send(request.sent, request.method, ends=not request.whole)
        seen.append(answer.status if answer else 0)
        if answer is None:
            assert not request.whole
        elif answer.body != b"Invalid HTTP request received.":  # uvicorn's own, about what is no HTTP
            assert holds(answer, request.method, request.path)

    ask()
    assert len(seen) >= drawn
    assert doors.uvicorn.ask(legacy(PING, ann)).status == 200


@few_or_all
@pytest.mark.parametrize("kind", ["rest", "http"])
def test_no_event_of_a_gateway_breaks_the_function(doors: Doors, ann: str, kind: str, few: bool) -> None:
    door: LambdaDoor = getattr(doors, kind)
    seen: list[int] = []
    drawn = FEW if few else 1_000

    @settings(BY_CHANCE, max_examples=drawn)
    @given(events(door.event_of, ann))
    def ask(event: dict[str, Any]) -> None:
        answer = door.send(event)
        seen.append(answer.status)
        http = event["requestContext"].get("http", event)
        assert holds(answer, http.get("method") or http["httpMethod"], http["path"])

    ask()
    assert len(seen) >= drawn
    assert door.ask(legacy(PING, ann)).status == 200
