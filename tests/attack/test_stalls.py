"""What one owner's code does after its answer, or at all places at once, keeps no other owner waiting."""

import re
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from loci.adapters.local.executors import confined_executors, executor_session
from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.conftest import ANN, BOB
from tests.attack.doors import PATIENCE, UvicornDoor, uvicorn_door
from tests.attack.test_waiting import pending
from tests.attack.wire import Answer, Ask, call, legacy
from tests.support.executors import runner_packages
from tests.support.polling import until

MANY = 80
NEVER = """
import os, time
class Slow:
    def __reduce__(self):
        while True:
            try:
                while True: SLOW
            except BaseException: pass
open('begun', 'w').close()
slow = Slow()
"""
WAITS = "import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.02)"


@pytest.fixture
def own(tmp_path: Path) -> Generator[tuple[App, UvicornDoor]]:
    """A server that nobody else keeps busy."""
    runner_packages()
    app = build_app(load_settings({"data": tmp_path / "data", "log_level": "ERROR"}))
    with uvicorn_door(asgi(app)) as door:
        yield app, door
    app.close()


class People:
    """Owners, each with a key."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._keys = {owner: app.api_keys.create(owner, owner.subject)[1] for owner in (ANN, BOB)}

    def run(self, owner: Owner, id: str, code: str) -> Ask:
        return legacy(call("run_memory_code", {"executor_id": id, "code": code}), self._keys[owner])

    def keep_file(self, owner: Owner, id: str) -> Ask:
        return legacy(call("save_artifact", {"executor_id": id, "file": "begun"}), self._keys[owner])

    def executors(self, owner: Owner, count: int) -> list[str]:
        return [self._app.code.create_python(owner) for _ in range(count)]

    def begun(self, ids: list[str]) -> list[Path]:
        return [found for id in ids for found in (self._app.settings.data / "executors" / id).rglob("begun")]


SLOW = ("time.sleep(0.1)", "abs(1)", "sum(range(10 ** 9))")


def test_code_that_never_lets_itself_be_saved_keeps_nobody_from_running_or_from_ending(
    own: tuple[App, UvicornDoor], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, door = own
    people = People(app)
    monkeypatch.setattr(executor_session, "SAVE_SECONDS", 10 * PATIENCE)
    hostile = people.executors(ANN, 8)
    for id, slow in zip(hostile, SLOW * 3, strict=False):
        assert door.ask(people.run(ANN, id, NEVER.replace("SLOW", slow))).tool_code is None
    [honest] = people.executors(BOB, 1)
    assert door.ask(people.run(BOB, honest, "x = 1")).tool_code is None
    until(lambda: _is_saving(app), PATIENCE)  # nine processes are one too many
    assert door.ask(people.run(BOB, honest, "x + 1")).tool_code is None
    monkeypatch.setattr(confined_executors, "CLOSE_SECONDS", 1.0)
    app.close()  # this test would not end if each was waited for


def _is_saving(app: App) -> bool:
    return any(app.settings.data.glob("executors/*/variables-*"))


@pytest.mark.parametrize("count", [1, 8])
def test_sleeping_runs_of_an_owner_refuse_nobody_else(
    own: tuple[App, UvicornDoor], monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    app, door = own
    people = People(app)
    for module in (confined_executors, executor_session):
        monkeypatch.setattr(module, "BUSY_SECONDS", 10 * PATIENCE)
    ids, [honest] = people.executors(ANN, count), people.executors(BOB, 1)
    with pending(door, [people.run(ANN, id, WAITS) for id in ids] * (24 // count)) as waiting:
        until(lambda: people.begun(ids))
        assert door.ask(people.run(BOB, honest, "1 + 1")).tool_code is None
        assert not any(one.done() for one in waiting)
        with ThreadPoolExecutor(1) as letting:
            let = letting.submit(_let_go, app, ids, waiting)
            codes = [one.result().tool_code for one in waiting]
            let.result()
    assert codes == [None] * 24


def _let_go(app: App, ids: list[str], waiting: list[Future[Answer]]) -> None:
    def are_done() -> bool:
        for id in ids:
            for work in (app.settings.data / "executors" / id).glob("work"):
                (work / "go").touch()
        return all(one.done() for one in waiting)

    until(are_done, 2 * PATIENCE)


def test_calls_for_files_of_an_executor_that_runs_are_refused_at_once(
    own: tuple[App, UvicornDoor], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, door = own
    people = People(app)
    monkeypatch.setattr(executor_session, "BUSY_SECONDS", 10 * PATIENCE)
    [id] = people.executors(ANN, 1)
    with pending(door, [people.run(ANN, id, WAITS)]) as running:
        until(lambda: people.begun([id]))
        with pending(door, [people.keep_file(ANN, id)] * MANY) as asked:
            answers: list[Answer] = [one.result() for one in asked]
        assert not running[0].done()
        (app.settings.data / "executors" / id / "work" / "go").touch()
    assert {one.tool_code for one in answers} == {"EXECUTOR_BUSY"}
    said = answers[0].message["result"]["_meta"]["loci/error"]["message"]
    assert re.search(r"has run other code for \d+ s, and may for \d+ s more$", said)
