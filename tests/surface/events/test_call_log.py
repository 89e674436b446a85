"""The log of calls: who called what, with which outcome, of one owner, without contents."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp.client.session import DEFAULT_CLIENT_INFO

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import LOCAL, LOCAL_CALLER, Owner
from loci.core.telemetry import Called
from tests.attack.doors import Door
from tests.attack.wire import Answer, Ask, Headers
from tests.support.each import each
from tests.support.polling import until
from tests.support.serving import call, initialize
from tests.support.with_parts import with_settings
from tests.surface.conftest import Connect, on_both
from tests.surface.events.conftest import ANN, BOB

Key = Callable[[Owner], Headers]
POSTED = (("Content-Type", "application/json"), ("Accept", "application/json"))


def send(door: Door, headers: Headers, message: object) -> Answer:
    return door.ask(Ask(json.dumps(message).encode(), (*headers, *POSTED), "POST", "/mcp"))


def begin(door: Door, key: Headers) -> Headers:
    """The headers of a session of the client `test/1`."""
    begun = send(door, key, initialize("2025-06-18"))
    return (*key, ("Mcp-Session-Id", begun.header("mcp-session-id") or ""))


def read(door: Door, key: Headers, query: str = "") -> list[dict[str, Any]]:
    answer = door.ask(Ask(b"", key, "GET", f"/log{query}"))
    assert answer.status == 200, answer.body
    return json.loads(answer.body)["calls"]


@on_both
def test_an_owner_reads_who_called_what_and_how_it_ended_and_nothing_of_others(app: App, door: Door, key: Key) -> None:
    ann, bob = key(ANN), key(BOB)
    session = begin(door, ann)
    send(door, session, call("scratchpad_read", {"id": "a_secret_word"}))
    send(door, session, call("scratchpad_list"))
    send(door, bob, call("a_tool_of_bob"))
    app.finish()
    wrong, right = until(lambda: found if len(found := read(door, ann)) == 2 else None)
    assert (wrong["tool"], wrong["outcome"], wrong["code"]) == ("scratchpad_read", "error", "SCRATCHPAD_NOT_FOUND")
    who = {"proof": "key", "key": "test", "client": "test/1"}
    assert {name: right[name] for name in ("tool", "outcome", "door", *who)} == {
        "tool": "scratchpad_list",
        "outcome": "ok",
        "door": "mcp",
        **who,
    }
    assert right["session"] == wrong["session"] != ""
    assert right["credential"] in [one.id for one in app.api_keys.list() if one.owner == ANN]
    assert "a_secret_word" not in json.dumps([wrong, right])
    assert [one["tool"] for one in until(lambda: read(door, bob))] == ["unknown"]
    assert [one["tool"] for one in read(door, ann, "?tool=scratchpad_list")] == ["scratchpad_list"]
    assert read(door, ann, "?since=9999999999") == []


@each(
    "has_key, method, query, status",
    [
        (False, "GET", "", 401),
        (True, "POST", "", 405),
        (True, "GET", "?since=now", 400),
        (True, "GET", "?after=x", 400),
    ],
)
def test_the_log_is_read_with_a_credential_and_a_fitting_question(
    app: App, door: Door, key: Key, has_key: bool, method: str, query: str, status: int
) -> None:
    headers = key(ANN) if has_key else key(ANN)[:1]
    assert door.ask(Ask(b"", headers, method, f"/log{query}")).status == status


@pytest.mark.anyio
async def test_a_client_of_any_revision_is_named(app: App, connect: Connect) -> None:
    async with connect() as client:
        await client.call_tool("scratchpad_list")
    app.finish()
    [one] = [event.fields for _, event in app.events.calls(LOCAL, 0).events]
    assert (one["proof"], one["client"]) == ("local", f"{DEFAULT_CLIENT_INFO.name}/{DEFAULT_CLIENT_INFO.version}")


def test_without_days_no_call_is_logged(app: App) -> None:
    app = with_settings(app, call_log_days=0)
    app.calls.ended(Called("search", LOCAL_CALLER, "mcp", 1.5, "ok", "", 10, 20))
    app.finish()
    assert not [*(app.settings.data / "calls").rglob("*.jsonl")]
    with pytest.raises(Refused, match="call_log_days is 0"):
        app.events.calls(LOCAL, 0)
