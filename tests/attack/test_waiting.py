"""Requests that wait for a lock or for a run keep nobody waiting who asks for something quick."""

from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from loci.adapters.local.executors import confined_executors, executor_session
from loci.adapters.local.write_locks import FolderWriteLocks
from loci.app import App
from loci.authoring import write_recovery
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.documents import library
from loci.documents.document import lock_name
from loci.mcp.http.application import asgi
from tests.attack.conftest import ANN, BOB
from tests.attack.doors import PATIENCE, UvicornDoor, uvicorn_door
from tests.attack.wire import Answer, Ask, call, legacy
from tests.support.executors import runner_packages
from tests.support.polling import until

MANY = 80
"""More than there are threads in a pool."""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[App, UvicornDoor]]:
    """A server that nobody else keeps busy."""
    runner_packages()
    app = build_app(load_settings({"data": tmp_path_factory.mktemp("waiting"), "log_level": "ERROR"}))
    with uvicorn_door(asgi(app)) as door:
        yield app, door
    app.close()


@contextmanager
def pending(door: UvicornDoor, asks: list[Ask]) -> Generator[list[Future[Answer]]]:
    with ThreadPoolExecutor(len(asks)) as people:
        yield [people.submit(door.ask, ask) for ask in asks]


def is_quick_beside(door: UvicornDoor, key: str, waiting: list[Future[Answer]]) -> bool:
    """True if a quick tool answers several times, and these still wait then."""
    for _ in range(30):
        assert door.ask(legacy(call("scratchpad_list", {}), key)).tool_code is None
    return not any(one.done() for one in waiting)


def test_writers_that_wait_for_a_lock_keep_nobody_waiting(
    own: tuple[App, UvicornDoor], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, door = own
    for module in (library, write_recovery):
        monkeypatch.setattr(module, "LOCK_WAIT_SECONDS", 10 * PATIENCE)
    key = app.api_keys.create(ANN, "ann")[1]
    write = legacy(call("write_document", {"path": "waiting/a.md", "content": "# A\n"}), key)
    locks = FolderWriteLocks(app.settings.data / "turns")
    with ExitStack() as held:
        assert held.enter_context(locks.take(ANN, lock_name("waiting/a.md"), 0))
        with pending(door, [write] * MANY) as waiting:
            quick = is_quick_beside(door, key, waiting)
            held.close()
    assert quick
    codes = {one.result().tool_code for one in waiting}
    assert None in codes
    assert codes <= {None, "BUSY"}  # they all write the same text, so nobody is too late


def test_runs_that_wait_for_their_turn_keep_nobody_waiting(
    own: tuple[App, UvicornDoor], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, door = own
    for module in (confined_executors, executor_session):
        monkeypatch.setattr(module, "BUSY_SECONDS", 10 * PATIENCE)
    keys = [app.api_keys.create(owner, owner.subject)[1] for owner in (ANN, BOB)]
    ids = [app.code.create_python(owner) for owner in (ANN, BOB)]
    code = "import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.02)"
    runs = [
        legacy(call("run_memory_code", {"executor_id": id, "code": code}), key)
        for key, id in zip(keys, ids, strict=True)
    ]
    with pending(door, runs * (MANY // 2)) as waiting:
        works = [_work_folder(app, id) for id in ids]
        quick = is_quick_beside(door, keys[0], waiting)
        for work in works:
            (work / "go").touch()
    assert quick
    assert [one.result().tool_code for one in waiting] == [None] * MANY


def test_an_owner_has_so_many_runs_and_no_more(own: tuple[App, UvicornDoor], monkeypatch: pytest.MonkeyPatch) -> None:
    app, door = own
    for module in (confined_executors, executor_session):
        monkeypatch.setattr(module, "BUSY_SECONDS", 10 * PATIENCE)
    key, id = app.api_keys.create(ANN, "ann")[1], app.code.create_python(ANN)
    code = "import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.02)"
    run = legacy(call("run_memory_code", {"executor_id": id, "code": code}), key)
    with pending(door, [run] * MANY) as waiting:
        work = _work_folder(app, id)
        until(lambda: sum(one.done() for one in waiting) == MANY - 64, PATIENCE)
        (work / "go").touch()
    codes = [one.result().tool_code for one in waiting]
    assert (codes.count(None), codes.count("SANDBOX_BUSY")) == (64, MANY - 64)


def _work_folder(app: App, id: str) -> Path:
    """The folder of a run that goes on."""

    def begun() -> list[Path]:
        return [*(app.settings.data / "executors" / id).rglob("begun")]

    return until(begun, PATIENCE)[0].parent
