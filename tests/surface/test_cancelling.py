"""Calls over HTTP that their clients cancel: by a message, or by closing the connection, as their revision has it."""

import json
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from loci.mcp.http.connection import uvicorn_config
from tests.attack.doors import UvicornDoor, on_the_wire, uvicorn_door
from tests.attack.wire import Ask, begun, call, legacy, rpc
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.support.executors import runner_packages
from tests.support.polling import until
from tests.surface.results import structured, texts
from tests.surface.workflows.conftest import Flow, journal_server, task

pytestmark = pytest.mark.anyio
BOTH = "application/json, text/event-stream"
WAYS = [(mode, accept) for mode in ("legacy", "2026-07-28") for accept in ("application/json", BOTH)]
"""The ways of a client: by message in a session, or by closing; with answers in JSON, or as streams."""

WAIT = "journal:wait_for"


@dataclass(frozen=True)
class Person:
    """Somebody with a key, and what their tools did."""

    door: UvicornDoor
    key: str
    flow: Flow

    @asynccontextmanager
    async def client(self, mode: Any = "legacy", accept: str = BOTH) -> AsyncGenerator[Client]:
        async def accepting(request: httpx2.Request) -> None:
            request.headers["accept"] = accept

        given = {"Authorization": f"Bearer {self.key}"}
        http = httpx2.AsyncClient(headers=given, timeout=60, event_hooks={"request": [accepting]})
        url = f"http://127.0.0.1:{self.door.port}/mcp"
        async with http, Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            yield client

    def ask(self, body: bytes, session: str | None, accept: str = "application/json") -> Ask:
        return legacy(body, self.key).having("Mcp-Session-Id", session).having("Accept", accept)

    def begin(self, ask: Ask) -> socket.socket:
        """Send it, and return the connection as soon as the tool of the journal has begun."""
        before = len(self.flow.begun())
        connection = socket.create_connection(("127.0.0.1", self.door.port), timeout=60)
        connection.sendall(on_the_wire(ask))
        until(lambda: len(self.flow.begun()) > before)
        return connection

    def was_cancelled(self) -> bool:
        """True if the server was told so of a call in this journal, which is perhaps not the first one."""
        told = {(one["event"], one["request"]) for one in self.flow.lines()}
        return any(event == "begin" and ("cancelled", request) in told for event, request in told)

    @property
    def gate(self) -> Path:
        """The file that the tool `wait_for` waits for."""
        return self.flow.journal.with_suffix(".gate")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Person, Person]]:
    runner_packages()
    folder = tmp_path_factory.mktemp("people")
    app = build_app(load_settings({"data": folder / "data", "models": folder, "auth": "required"}))
    with uvicorn_door(asgi(app)) as door:

        def person(name: str) -> Person:
            owner, journal = Owner("acme", name), folder / name
            app.tools.add(owner, "journal", journal_server(journal))
            app.tools.ask(owner, "journal")
            return Person(door, app.api_keys.create(owner, "test")[1], Flow(app, journal))

        yield person("ann"), person("bob")
    app.close()


@pytest.fixture
def ann(people: tuple[Person, Person]) -> Person:
    """Their journal begins anew, and the gate is closed."""
    return anew(people[0])


@pytest.fixture
def bob(people: tuple[Person, Person]) -> Person:
    return anew(people[1])


def anew(person: Person) -> Person:
    person.flow.anew()
    person.gate.unlink(missing_ok=True)
    return person


def waiting(person: Person) -> bytes:
    """A call that waits for the gate."""
    return call(WAIT, {"file": str(person.gate)}, 7)


def cancelled(id: object) -> bytes:
    params = {"requestId": id, "reason": "Stop"}
    return json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).encode()


def rest(connection: socket.socket) -> bytes:
    """All that still comes, until the server closes."""
    with connection:
        return b"".join(iter(lambda: connection.recv(65536), b""))


@each(("mode", "accept"), WAYS)
async def test_a_cancelled_run_of_code_ends_its_code(ann: Person, mode: str, accept: str) -> None:
    async with ann.client(mode, accept) as client:
        made = structured(await client.call_tool("create_memory_code_runner", {}))["result"]
        work = ann.flow.app.settings.data / "executors" / made["executor_id"]
        await client.call_tool("run_memory_code", {**made, "code": "x = 41"})
        sleeping = {**made, "code": "x += 1\nopen('begun', 'w').close()\nimport time\ntime.sleep(60)\nx = 0"}
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "run_memory_code", sleeping)
            await anyio.to_thread.run_sync(until, lambda: any(work.rglob("begun")))
            calls.cancel_scope.cancel()
        told = await client.call_tool("run_memory_code", {**made, "code": "x"})  # its executor is free
    assert not told.is_error, texts(told)
    answer = structured(told)["result"]
    assert (answer["value"], answer["executor"]["state"]) == ("42", "kept")


@each(("mode", "accept"), WAYS)
async def test_a_cancelled_call_of_a_tool_server_is_cancelled_there(ann: Person, mode: str, accept: str) -> None:
    anew(ann)
    async with ann.client(mode, accept) as client:
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, WAIT, {"file": str(ann.gate)})
            await anyio.to_thread.run_sync(until, ann.flow.begun)
            calls.cancel_scope.cancel()
        await anyio.to_thread.run_sync(until, ann.was_cancelled)
        await client.list_tools()


@needs_deno
async def test_the_calls_of_a_cancelled_run_of_code_are_cancelled_too(ann: Person) -> None:
    code = f"await mcp['journal:wait_for']({{file: {json.dumps(str(ann.gate))}}})"
    async with ann.client() as client, anyio.create_task_group() as calls:
        calls.start_soon(client.call_tool, "pml_execute_code", {"code": code, "intent": "wait for a file"})
        await anyio.to_thread.run_sync(until, ann.flow.begun)
        calls.cancel_scope.cancel()
    await anyio.to_thread.run_sync(until, ann.was_cancelled)


async def test_a_workflow_whose_call_is_cancelled_goes_on(ann: Person) -> None:
    tasks = [task("t1", "wait_for", file=str(ann.gate)), task("t2", "note", "t1", value=2)]
    async with ann.client() as client:
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "pml_execute_dag", {"workflow": {"tasks": tasks}})
            await anyio.to_thread.run_sync(until, ann.flow.begun)
            calls.cancel_scope.cancel()
        ann.gate.touch()
        await anyio.to_thread.run_sync(until, lambda: [tool for tool, _ in ann.flow.begun()] == ["wait_for", "note"])
    assert not ann.was_cancelled()


@each(
    ("accept", "answers"),
    [
        ("application/json", [{"jsonrpc": "2.0", "id": 7, "error": {"code": -32800, "message": "Request cancelled"}}]),
        (BOTH, []),
    ],
)
def test_a_cancelled_call_has_no_result(ann: Person, accept: str, answers: list[Any]) -> None:
    anew(ann)
    session = begun(ann.door.ask, ann.key)
    connection = ann.begin(ann.ask(waiting(ann), session, accept).also("Connection", "close"))
    told = ann.door.ask(ann.ask(cancelled(7), session))
    assert (told.status, told.body) == (202, b"")
    head, body = rest(connection).split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 200 ")
    assert [json.loads(line) for line in body.splitlines() if line.startswith(b"{")] == answers
    assert body.endswith(b"0\r\n\r\n") or answers  # the stream has an end
    assert b"data:" not in body
    until(ann.was_cancelled)


def test_a_cancelled_call_of_a_batch_is_left_out_of_its_answer(ann: Person) -> None:
    session = begun(ann.door.ask, ann.key)
    calls = json.loads(waiting(ann)), json.loads(rpc("ping", id=8))
    connection = ann.begin(ann.ask(json.dumps(calls).encode(), session).also("Connection", "close"))
    ann.door.ask(ann.ask(cancelled(7), session))
    assert json.loads(rest(connection).split(b"\r\n\r\n", 1)[1]) == [{"jsonrpc": "2.0", "id": 8, "result": {}}]
    until(ann.was_cancelled)


def test_nobody_else_cancels_a_call(ann: Person, bob: Person) -> None:
    session, other = begun(ann.door.ask, ann.key), begun(ann.door.ask, ann.key)
    connection = ann.begin(ann.ask(waiting(ann), session).also("Connection", "close"))
    tried = [
        bob.ask(cancelled(7), session),
        bob.ask(cancelled(7), begun(bob.door.ask, bob.key)),
        bob.ask(cancelled(7), None),
        ann.ask(cancelled(7), other),
        ann.ask(cancelled(7), None),
        ann.ask(cancelled("7"), session),
        ann.ask(cancelled(7), session).having("MCP-Protocol-Version", "2026-07-28"),
    ]
    assert [ann.door.ask(one).status for one in tried] == [404, *[202] * 6]
    ann.gate.touch()
    answer = json.loads(rest(connection).split(b"\r\n\r\n", 1)[1])
    assert answer["result"]["structuredContent"] == {"found": True}
    assert not ann.was_cancelled()


def test_a_lost_connection_cancels_nothing_in_the_revisions_with_sessions(ann: Person) -> None:
    session = begun(ann.door.ask, ann.key)
    for accept in ("application/json", BOTH):
        anew(ann)
        ann.begin(ann.ask(waiting(ann), session, accept)).close()
        assert ann.door.ask(ann.ask(rpc("ping"), session)).status == 200
        ann.gate.touch()
        until(lambda: any(one["event"] == "end" for one in ann.flow.lines()))
        assert not ann.was_cancelled()


def test_idle_connections_outlive_those_of_clients() -> None:
    async def nothing(*_: object) -> None: ...

    assert uvicorn_config(nothing).timeout_keep_alive == 75
