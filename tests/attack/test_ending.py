"""The server ends in time, whatever code does meanwhile, and says what it has killed."""

import os
import signal
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from loci import app as product
from loci.adapters.local.executors import confined_executors
from loci.adapters.local.executors.executor_folder import ExecutorFolder
from loci.app import App
from loci.code.typescript import TypeScriptRequest
from loci.compose import build_app
from loci.core.errors import LociError
from loci.core.identity import Caller
from loci.core.settings import load_settings
from tests.attack.conftest import ANN, BOB
from tests.attack.doors import PATIENCE
from tests.attack.test_stalls import NEVER
from tests.support.deno import needs_deno
from tests.support.executors import runner_packages
from tests.support.polling import until
from tests.support.processes import children, command_line, descendants

ENDLESS = "for (;;) {}"
CALLER = Caller(ANN, "key")


@pytest.fixture
def app(tmp_path: Path) -> Generator[App]:
    runner_packages()
    made = build_app(load_settings({"data": tmp_path / "data", "log_level": "ERROR"}))
    yield made
    made.close()


def children_named(name: str) -> list[int]:
    """Our children with this in their command line."""
    return [one for one in children(os.getpid()) if name.encode() in command_line(one)]


def test_a_deadline_for_all_parts_names_what_is_killed(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        app.code.parts.python.get().run(CALLER, app.code.create_python(ANN), NEVER.replace("SLOW", "abs(1)"))
    monkeypatch.setattr(confined_executors, "CLOSE_SECONDS", PATIENCE)
    monkeypatch.setattr(product, "CLOSE_SECONDS", 0.5)
    app.close()  # this test would not end if each was waited for
    assert "Not ended after 0.5 s, and killed: code" in capsys.readouterr().err


def test_a_client_s_patience_is_the_deadline_of_all_executors_and_what_is_not_saved_is_said(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        app.code.parts.python.get().run(CALLER, app.code.create_python(ANN), NEVER.replace("SLOW", "abs(1)"))
    monkeypatch.setattr(confined_executors, "CLOSE_SECONDS", 100 * PATIENCE)
    said: list[str] = []
    app.close(1.0)  # this test would not end if each had its time
    until(lambda: "3 executors: variables that had changed could not be saved" in _heard(said, capsys), PATIENCE)


def _heard(said: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    said.append(capsys.readouterr().err)
    return "".join(said)


def test_what_other_owners_have_is_saved_beside_code_that_never_lets_itself_be_saved(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = app.code.parts.python.get()
    hostile = [app.code.create_python(ANN) for _ in range(4)]
    for id in hostile:
        python.run(CALLER, id, NEVER.replace("SLOW", "abs(1)"))
    honest = app.code.create_python(BOB)
    python.run(Caller(BOB, "key"), honest, "x = 41")
    for module in (confined_executors, product):
        monkeypatch.setattr(module, "CLOSE_SECONDS", 10 * PATIENCE)
    folder = ExecutorFolder(tmp_path / "data" / "executors" / honest)
    with ThreadPoolExecutor(1) as elsewhere:
        ended = elsewhere.submit(app.close)
        until(lambda: folder.known().snapshot, PATIENCE)
        assert not ended.done()
        until(lambda: _all_killed(app, hostile) and ended.done(), PATIENCE)
    again = build_app(load_settings({"data": tmp_path / "data", "log_level": "ERROR"}))
    try:
        assert again.code.parts.python.get().run(Caller(BOB, "key"), honest, "print(x)").stdout == "41\n"
    finally:
        again.close()


def _all_killed(app: App, ids: list[str]) -> bool:
    """Kill what runs in the folders of these executors, or else the test would wait for it."""
    for process in descendants(os.getpid()):
        with suppress(OSError):
            folder = Path(f"/proc/{process}/cwd").readlink()
            if any(folder.is_relative_to(app.settings.data / "executors" / id) for id in ids):
                os.kill(process, signal.SIGKILL)
    return True


@needs_deno
@pytest.mark.parametrize("name", ["deno_launcher", "inside.fork_server"])
def test_a_process_of_ours_that_stands_still_is_not_waited_for(app: App, name: str) -> None:
    before = set(children_named(name))
    app.code.parts.python.get().run(CALLER, app.code.create_python(ANN), "1")
    app.code.start_typescript(CALLER, TypeScriptRequest("1 + 1")).future.result(PATIENCE)
    [ours] = set(children_named(name)) - before
    os.kill(ours, signal.SIGSTOP)
    app.close()
    until(lambda: not Path(f"/proc/{ours}").exists())


@needs_deno
def test_a_run_of_typescript_that_goes_on_ends(app: App) -> None:
    run = app.code.start_typescript(CALLER, TypeScriptRequest(ENDLESS))
    until(lambda: children_named("deno_launcher"))
    app.close()
    with suppress(LociError):
        run.future.result(PATIENCE)
