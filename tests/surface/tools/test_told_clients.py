"""Clients over HTTP: told of changed lists, their own, while they may hear that; with sessions of their own."""

import json
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from loci.app import App
from loci.core.identity import LOCAL, Owner
from loci.gateway import tool_list
from loci.mcp.http import open_answers
from loci.mcp.http.application import asgi
from tests.attack.doors import UvicornDoor, lambda_doors, uvicorn_door
from tests.attack.wire import Answer, Ask, initialize, legacy, modern
from tests.servers.upstream import modern as growing
from tests.servers.upstream import offering
from tests.support.each import each
from tests.support.polling import until
from tests.support.processes import is_alive
from tests.support.told_client import ToldClient, told_client
from tests.surface.conftest import Mode
from tests.surface.results import structured
from tests.surface.tools.conftest import hostile_entry, shop_app

pytestmark = pytest.mark.anyio
ANN = Owner("acme", "ann")
HARBOUR = {"command": sys.executable, "args": [offering.__file__, "stdio"]}
GROWING = {"command": sys.executable, "args": [growing.__file__]}
EVENTS = "text/event-stream"
LISTEN = {"notifications": {"promptsListChanged": True, "resourceSubscriptions": ["loci://tools/a/b"]}}


@pytest.fixture
def door(app: App) -> Generator[UvicornDoor]:
    """Loci as `loci serve` has it."""
    with uvicorn_door(asgi(app, tells_changes=True)) as uvicorn:
        yield uvicorn
        app.end_streams()


def key(app: App, owner: Owner = LOCAL) -> str:
    return app.api_keys.create(owner, "test")[1]


def stream_of(begun: Answer, hello: Ask) -> Ask:
    """The GET of the session that this answer begins."""
    get = replace(hello, body=b"").by("GET").having("Accept", EVENTS).having("Content-Type", None)
    return get.having("Mcp-Session-Id", begun.header("mcp-session-id"))


def listen(shown: str) -> Ask:
    return modern("subscriptions/listen", LISTEN, shown).having("Accept", f"application/json, {EVENTS}")


@contextmanager
def opened(door: UvicornDoor, ask: Ask) -> Generator[HTTPResponse]:
    """The answer, once it has begun."""
    with closing(HTTPConnection(door.host, door.port, timeout=30)) as connection:
        connection.request(ask.method, ask.target, ask.body, dict(ask.headers))
        yield connection.getresponse()


def declared(answer: Answer) -> list[bool]:
    """What the server declares, with False where it says nothing."""
    capabilities = answer.message["result"]["capabilities"]
    changes = [capabilities[one].get("listChanged", False) for one in ("tools", "prompts", "resources")]
    return [*changes, capabilities["resources"].get("subscribe", False)]


async def test_each_transport_declares_what_it_tells_and_lambda_leaves_nothing_open(app: App) -> None:
    shown = key(app)
    hello, discover = legacy(initialize(), shown), modern("server/discover", {}, shown)
    with uvicorn_door(asgi(app, tells_changes=True)) as here, lambda_doors(asgi(app)) as (rest, http):
        for door, at, changes in ((here, "/mcp", True), (here, "/mcp/documents", False), (rest, "/mcp", False)):
            for ask in (hello, discover):
                follows = changes and ask is discover
                assert declared(door.ask(ask.at(at))) == [changes, changes, changes, follows], (door, at)
        for door, at in ((here, "/mcp/documents"), (rest, "/mcp"), (http, "/mcp")):
            refused = door.ask(listen(shown).at(at))
            assert (refused.status, refused.message["error"]["code"]) == (404, -32601)
            assert "ask for them again" in refused.message["error"]["message"]
            get = door.ask(stream_of(door.ask(hello.at(at)), hello).at(at))
            assert (get.status, get.header("allow")) == (405, "POST, DELETE")
        assert here.ask(listen(shown).having("Accept", "application/json")).status == 406
        get = stream_of(here.ask(hello), hello)
        assert here.ask(get.having("Mcp-Session-Id", "forged")).status == 404
        assert here.ask(get.having("MCP-Protocol-Version", "2026-07-28")).status == 405
        assert here.ask(get.having("Accept", "application/json")).status == 406


async def test_a_subscription_is_granted_for_lists_only_and_ends_whole_when_the_server_stops(
    app: App, door: UvicornDoor
) -> None:
    with opened(door, listen(key(app))) as answer:
        app.end_streams()
        lines = [json.loads(one[6:]) for one in answer.read().decode().splitlines() if one.startswith("data: ")]
    assert lines[0]["method"] == "notifications/subscriptions/acknowledged"
    assert lines[0]["params"]["notifications"] == {"promptsListChanged": True}
    assert lines[1]["result"]["resultType"] == "complete"


async def test_streams_end_when_the_key_is_revoked(
    app: App, door: UvicornDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_answers, "BEAT_SECONDS", 0.05)
    known, shown = app.api_keys.create(LOCAL, "test")
    hello = legacy(initialize(), shown)
    with opened(door, stream_of(door.ask(hello), hello)) as stream, opened(door, listen(shown)) as subscription:
        assert (stream.status, subscription.status) == (200, 200)
        app.api_keys.revoke(known.id)
        assert b"method" not in stream.read()
        assert b"result" not in subscription.read()


async def test_a_followed_note_and_the_list_of_notes_are_told_when_they_change(app: App, door: UvicornDoor) -> None:
    url = f"http://127.0.0.1:{door.port}/mcp"

    async def write(client: Client, path: str, text: str, **more: str) -> None:
        answer = await client.call_tool("write_document", {"path": path, "content": text, **more})
        assert not answer.is_error, answer

    note = "loci://documents/boats"
    async with (
        create_mcp_http_client({"Authorization": f"Bearer {key(app)}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode="2026-07-28", read_timeout_seconds=60) as client,
    ):
        await write(client, "boats.md", "# Boats\n\nA ferry.\n")
        async with client.listen(resource_subscriptions=[note, "loci://tools/a/b"]) as followed:
            await write(client, "cars.md", "# Cars\n\nA tram.\n")
            await write(client, "boats.md", "# Boats\n\nA canoe.\n", mode="append")
            assert await anext(aiter(followed)) == ResourceUpdated(uri=note)
            assert "canoe" in str((await client.read_resource(note)).contents)
        async with client.listen(resources_list_changed=True) as listed:
            await write(client, "bikes.md", "# Bikes\n\nTwo wheels.\n")
            assert await anext(aiter(listed)) == ResourcesListChanged()


@each("mode", ["legacy", "2026-07-28"])
async def test_another_owners_changes_are_not_told(app: App, door: UvicornDoor, mode: Mode) -> None:
    def headers(owner: Owner) -> dict[str, str]:
        return {"Authorization": f"Bearer {key(app, owner)}"}

    def harbour() -> None:
        app.tools.add(ANN, f"harbour-{mode}", HARBOUR)
        app.tools.ask(ANN, f"harbour-{mode}")

    app.tools.add(LOCAL, f"far-{mode}", GROWING)
    app.tools.ask(LOCAL, f"far-{mode}")
    url = f"http://127.0.0.1:{door.port}/mcp"
    async with told_client(url, mode, headers(ANN)) as ann, told_client(url, mode, headers(LOCAL)) as local:
        await ann.hears("resources", harbour)
        await local.client.call_tool(f"far-{mode}:grow", {})
        await local.hears("prompts")
        assert set(local.told) == {"prompts"}


async def test_each_client_with_a_session_has_its_own_process_of_a_server_until_it_goes(
    app: App, door: UvicornDoor
) -> None:
    app.tools.add(LOCAL, "far", hostile_entry() | {"session_per_client": True})
    headers = {"Authorization": f"Bearer {key(app)}"}
    url = f"http://127.0.0.1:{door.port}/mcp"

    async def process(one: ToldClient) -> int:
        return structured(await one.client.call_tool("far:process", {}))["id"]

    async with told_client(url, "legacy", headers) as first:
        async with told_client(url, "legacy", headers) as second:
            mine, other = await process(first), await process(second)
            assert mine != other
            assert (await process(first), await process(second)) == (mine, other)
        await anyio.to_thread.run_sync(until, lambda: not is_alive(other))
        assert await process(first) == mine
    async with (
        told_client(url, "2026-07-28", headers) as first,
        told_client(url, "2026-07-28", headers) as second,
        told_client(url, "2026-07-28", {"Authorization": f"Bearer {key(app)}"}) as third,
    ):
        shared = await process(first)
        assert await process(second) == shared  # no sessions: those of one key share it
        assert await process(third) not in (shared, mine)


async def test_a_server_that_announces_changes_without_end_is_told_of_as_often_as_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_list, "CALM", 0.05)
    lists = tmp_path / "lists"
    with shop_app(tmp_path / "data", tools_listed="far:*") as app, uvicorn_door(asgi(app, tells_changes=True)) as door:
        headers = {"Authorization": f"Bearer {key(app)}"}
        async with told_client(f"http://127.0.0.1:{door.port}/mcp", "2026-07-28", headers) as one:
            app.tools.add(LOCAL, "far", hostile_entry("flipping", str(lists)))
            await one.hears("tools", lambda: app.tools.ask(LOCAL, "far"))
            until(lambda: len(lists.read_text().splitlines()) >= 10)
            assert 1 <= len(one.told) <= len(lists.read_text().splitlines())
            assert "far_echo" in [tool.name for tool in (await one.client.list_tools()).tools]
        app.end_streams()
