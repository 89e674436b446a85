"""The event loop serves everybody: no request makes it wait for a store, and searches wait for each other."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.app import App
from loci.auth.api_keys import ApiKeys
from loci.compose import build_app
from loci.core.background import cores
from loci.core.identity import LOCAL_CALLER, SYSTEM, Owner
from loci.core.settings import load_settings
from loci.documents.api import Documents
from loci.mcp.http.application import asgi
from loci.mcp.http.refusal import Refusal
from loci.mcp.http.sessions import ENDED_SESSION, SESSION_SECONDS, Sessions
from tests.attack.doors import LambdaDoor, lambda_doors
from tests.attack.wire import begun, legacy, rpc
from tests.support.with_parts import with_parts
from tests.surface.conftest import Connect


class Watched:
    """A store of records that notes which of its methods are called on an event loop."""

    def __init__(self, records: Any) -> None:
        self._records = records
        self.on_the_loop: list[str] = []
        self.called: list[str] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._records, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.called.append(name)
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                pass
            else:
                self.on_the_loop.append(name)
            return method(*args, **kwargs)

        return call


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[tuple[App, Watched, LambdaDoor]]:
    app = build_app(load_settings({"data": tmp_path, "log_level": "ERROR", "auth": "required"}))
    records: Any = Watched(app.records)
    app = with_parts(app, records=records, api_keys=ApiKeys(records, lambda: 0.0))
    with lambda_doors(asgi(app)) as (door, _):
        yield app, records, door


def test_a_key_and_a_session_are_looked_up_beside_the_loop(watched: tuple[App, Watched, LambdaDoor]) -> None:
    app, records, door = watched
    _, key = app.api_keys.create(Owner("", "ann"), "test")
    session = begun(door.ask, key)
    listing = legacy(rpc("tools/list", {}), key).having("Mcp-Session-Id", session)
    assert door.ask(listing).status == 200
    assert door.ask(listing.by("DELETE").saying(b"")).status == 204
    assert door.ask(listing).status == 404
    assert {"get", "put"} <= set(records.called)
    assert records.on_the_loop == []


def test_a_session_ends_after_thirty_days_and_is_forgotten_with_its_end(tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path, "log_level": "ERROR"}))
    moment = 1_000_000.0
    records = SqliteRecords(Database(tmp_path / "sessions.db"), lambda: moment)
    sessions = Sessions(app.keyring, records, lambda: moment)
    left, ended = (sessions.begin(LOCAL_CALLER) for _ in range(2))
    sessions.end(ended, LOCAL_CALLER)
    [remembered] = records.list(SYSTEM, ENDED_SESSION).records
    moment += SESSION_SECONDS - 1
    sessions.check(left, LOCAL_CALLER)
    with pytest.raises(Refusal, match="Session not found"):
        sessions.check(ended, LOCAL_CALLER)
    moment += 2
    assert records.get(SYSTEM, ENDED_SESSION, remembered.key) is None
    for id in (left, ended):
        with pytest.raises(Refusal, match="Session not found"):
            sessions.check(id, LOCAL_CALLER)


@pytest.mark.anyio
async def test_only_as_many_searches_run_at_once_as_there_are_threads_for_them(
    app: App, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others wait. If all ran, a write beside them would get its share of a core among dozens."""
    threads = max(2, cores())
    running = most = 0
    counting = threading.Condition()
    search = Documents.search

    def watched(*args: Any, **kwargs: Any) -> Any:
        nonlocal running, most
        with counting:
            running += 1
            most = max(most, running)
            counting.notify_all()
            counting.wait_for(lambda: most >= threads, 60)
        time.sleep(0.05)  # one more would come now, and be counted
        try:
            return search(*args, **kwargs)
        finally:
            with counting:
                running -= 1

    monkeypatch.setattr(Documents, "search", watched)
    async with connect() as client:
        await asyncio.gather(*(client.call_tool("search_documents", {"query": "a word"}) for _ in range(24)))
    assert most == threads
