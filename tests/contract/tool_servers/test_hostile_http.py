"""Connections to servers over HTTP that refuse, redirect, forget, dawdle or never end."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from loci.adapters.tool_servers.connections import Connections
from loci.core.identity import LOCAL
from loci.core.json import JsonObject
from loci.gateway.ports import ToolServerError
from loci.gateway.tool_server import Endpoint, ToolServer
from tests.servers.ports import free_port
from tests.servers.upstream.hostile_http import HostileHttp, hostile_http
from tests.support.each import each
from tests.support.polling import until


@pytest.fixture
def hostile() -> Iterator[HostileHttp]:
    with hostile_http() as server:
        yield server


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as made:
        yield made


def at(hostile: HostileHttp, path: str = "plain", **headers: str) -> ToolServer:
    return ToolServer("far", Endpoint(hostile.url(path), headers))


def answered(connections: Connections, server: ToolServer) -> JsonObject:
    return connections.call(LOCAL, server, "name", {})


PLAIN: JsonObject = {"content": [{"type": "text", "text": "plain"}]}


def test_headers_are_sent_as_configured(connections: Connections, hostile: HostileHttp) -> None:
    answered(connections, at(hostile, Authorization="Bearer cat"))
    assert all(headers["Authorization"] == "Bearer cat" for _, headers in hostile.received)


def test_a_server_that_refuses_the_credentials_wants_others(connections: Connections, hostile: HostileHttp) -> None:
    with pytest.raises(ToolServerError, match=r"it wants other credentials \(401\)") as caught:
        answered(connections, at(hostile, "refusing", Authorization="Bearer secret"))
    assert caught.value.resolution == "Correct the token or the headers of this server in its settings"
    assert "secret" not in str(caught.value)


def test_no_redirect_leads_to_another_host(connections: Connections, hostile: HostileHttp) -> None:
    with pytest.raises(ToolServerError, match=r"Redirect to http://127\.0\.0\.2:9/mcp not followed"):
        answered(connections, at(hostile, "redirecting"))


def test_an_error_of_http_is_quoted_in_one_line(connections: Connections, hostile: HostileHttp) -> None:
    with pytest.raises(ToolServerError, match="it answered 503: “The database is gone”"):
        answered(connections, at(hostile, "failing"))


def test_a_server_that_does_not_listen_is_an_error(connections: Connections) -> None:
    with pytest.raises(ToolServerError, match="it cannot be reached") as caught:
        answered(connections, ToolServer("far", Endpoint(f"http://127.0.0.1:{free_port()}/mcp")))
    assert caught.value.resolution == "Check its address, and that it runs"


def test_a_header_that_cannot_be_sent_is_not_quoted(connections: Connections, hostile: HostileHttp) -> None:
    with pytest.raises(ToolServerError) as caught:
        answered(connections, at(hostile, Authorization="Bearer se\ncret"))
    assert "cret" not in str(caught.value)


@each(
    ("tool", "said"),
    [
        ("huge", "its answer has more than 10 MB"),
        ("compressed", "it compresses its answers"),
        ("cut", "the connection broke during its answer"),
        ("chatter", "it sends too many messages"),
    ],
)
@pytest.mark.usefixtures("soon_a_flood")
def test_a_bad_answer_fails_its_call(connections: Connections, hostile: HostileHttp, tool: str, said: str) -> None:
    with pytest.raises(ToolServerError, match=said):
        connections.call(LOCAL, at(hostile), tool, {})
    assert answered(connections, at(hostile)) == PLAIN


def test_a_bad_answer_fails_no_other_call(
    connections: Connections, hostile: HostileHttp, threads: ThreadPoolExecutor
) -> None:
    slow = threads.submit(connections.call, LOCAL, at(hostile), "slow", {})
    until(lambda: sum(method == "tools/call" for method, _ in hostile.received))
    with pytest.raises(ToolServerError):
        connections.call(LOCAL, at(hostile), "cut", {})
    hostile.released.set()
    assert slow.result() == {"content": []}


@each("tool", ["slow", "endless"])
def test_an_answer_that_does_not_come_holds_up_no_other_call(
    connections: Connections, hostile: HostileHttp, tool: str
) -> None:
    answered(connections, at(hostile))
    with pytest.raises(ToolServerError, match=r"gave no answer in 0\.5 s"):
        connections.call(LOCAL, at(hostile), tool, {}, seconds=0.5)
    assert answered(connections, at(hostile)) == PLAIN


def test_a_server_is_told_that_nobody_waits_any_more(connections: Connections, hostile: HostileHttp) -> None:
    answered(connections, at(hostile))  # to connect may take longer
    with pytest.raises(ToolServerError):
        connections.call(LOCAL, at(hostile), "slow", {}, seconds=0.5)
    until(lambda: "notifications/cancelled" in [method for method, _ in hostile.received])


def test_a_forgotten_session_fails_one_call_and_the_next_begins_another(
    connections: Connections, hostile: HostileHttp
) -> None:
    connections.call(LOCAL, at(hostile), "forget", {})
    with pytest.raises(ToolServerError, match="404"):
        answered(connections, at(hostile))
    assert answered(connections, at(hostile)) == PLAIN
