"""Saving that is cut off anywhere leaves the last whole snapshot, never a part of another; what is older is named."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from loci.adapters.local.executors.executor_folder import ExecutorFolder, VariablesWriter
from loci.adapters.local.executors.executor_session import ExecutorSession
from loci.code.ports import PythonResult, RunFailure
from loci.core.errors import LociError, Unavailable
from loci.sandbox.supervisor.executor_process import ExecutorProcess
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.python.test_dying import after, before, kill_executor
from tests.attack.sandbox.python.test_meters import WALLS
from tests.attack.sandbox.python.test_saved_state import Here
from tests.contract.stores import ANN
from tests.support.each import each

FIRST = "x = 1; data = bytes([1]) * (5 << 20); same = 'same'"
SECOND = "x = 2; data = bytes([2]) * (5 << 20)"
READ = "print(x, data[0], data[-1], len(data) >> 20, same)"
OLD, NEW = "1 1 1 5 same\n", "2 2 2 5 same\n"
MOMENTS: dict[str, tuple[Any, str, Any, bool]] = {
    "before it is asked": (ExecutorProcess, "save", before, False),
    "before bytes are taken": (VariablesWriter, "write", before, False),
    "after a piece is written": (VariablesWriter, "write", after, False),
    "after all bytes came": (ExecutorProcess, "save", after, False),
    "before they are whole": (VariablesWriter, "finish", before, False),
    "before the note": (ExecutorFolder, "note", before, False),
    "after the note, before the last ones are removed": (ExecutorFolder, "note", after, True),
    "after it is finished": (ExecutorSession, "_save", after, True),
}
"""Where and how, and if the new snapshot is the last one then."""


@pytest.fixture(params=WALLS)
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Here]:
    made = Here(tmp_path, request.param)
    yield made
    made.executors.close()


def save(here: Here) -> None:
    for session in here.executors.sessions():
        with suppress(LociError):
            session.put_away()


def at(name: str, act: Callable[[], None], patch: Callable[[Any, str, Any], None]) -> None:
    """Have this done at the moment, once."""
    where, attribute, wrap, _ = MOMENTS[name]
    left = [act]
    patch(where, attribute, wrap(getattr(where, attribute), lambda: left and left.pop()()))


def is_as_told(told: PythonResult, text: str) -> bool:
    assert not isinstance(told.outcome, RunFailure), told
    older = told.condition.kept if text == OLD else ()  # a run came after the save, and may have changed any of them
    return (told.stdout, sorted(told.condition.older), told.condition.lost) == (text, sorted(older), ())


@each("name", MOMENTS)
def test_an_executor_that_is_killed_while_it_saves(here: Here, tried: Tried, name: str) -> None:
    id = here.executors.open(ANN)
    here.ran(ANN, id, FIRST)
    save(here)
    here.ran(ANN, id, SECOND)
    with tried(name):
        with pytest.MonkeyPatch.context() as patch:
            at(name, lambda: kill_executor(here), patch.setattr)
            save(here)
        # All bytes had come: then its end takes nothing along.
        is_new = MOMENTS[name][3] or name in ("after all bytes came", "before they are whole", "before the note")
        told = here.ran(ANN, id, READ)
        expected = (OLD, NEW) if name == "after a piece is written" else (NEW if is_new else OLD,)
        assert told.stdout in expected
        assert is_as_told(told, told.stdout)
        here.restart()
        assert here.ran(ANN, id, READ).stdout == told.stdout
        here.executors.forget(ANN, id)


def killed_server(folder: str, wall: str, name: str) -> None:
    """What the killed server does."""
    here = Here(Path(folder), wall)
    id = here.executors.open(ANN)
    here.ran(ANN, id, FIRST)
    save(here)
    here.ran(ANN, id, SECOND)
    print(id, flush=True)
    at(name, lambda: os.kill(os.getpid(), signal.SIGKILL), setattr)
    save(here)


def killed_servers(folder: str, wall: str) -> None:
    """One for each moment, each in a process and a folder of its own."""
    for at, name in enumerate(MOMENTS):
        Path(folder, str(at)).mkdir()
        if (child := os.fork()) == 0:
            killed_server(f"{folder}/{at}", wall, name)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, name


@pytest.mark.parametrize("wall", WALLS)
def test_a_server_that_is_killed_while_it_saves(tmp_path: Path, tried: Tried, wall: str) -> None:
    code = f"from {__name__} import killed_servers as run; run({str(tmp_path)!r}, {wall!r})"
    died = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    ids = died.stdout.split()
    assert len(ids) == len(MOMENTS)
    for at, (name, id) in enumerate(zip(MOMENTS, ids, strict=True)):
        with tried(name), closing(Here(tmp_path / str(at), wall)) as here:
            assert is_as_told(here.ran(ANN, id, READ), NEW if MOMENTS[name][3] else OLD), name
            here.ran(ANN, id, SECOND)
            here.restart()
            assert is_as_told(here.ran(ANN, id, READ), NEW), name
            here.executors.forget(ANN, id)
            assert here.stored(ANN) == 0, name  # also what the killed one had written


def test_what_was_not_saved_is_saved_the_next_time(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    id = here.executors.open(ANN)
    here.ran(ANN, id, FIRST)
    save(here)
    here.ran(ANN, id, SECOND)

    def full(writer: VariablesWriter, *_: object) -> None:
        writer.abandon()
        raise Unavailable("No space left on device", "Free some")

    with monkeypatch.context() as patch:
        patch.setattr(VariablesWriter, "finish", full)
        save(here)
    here.ran(ANN, id, "pass")  # it changes nothing, and still all of it is to be saved
    save(here)
    assert is_as_told(here.ran(ANN, id, READ), NEW)
