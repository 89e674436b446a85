"""Saving that is cut off anywhere leaves the last whole snapshot, never a part of another; what is older is named."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from loci.adapters.sandbox import snapshots
from loci.adapters.sandbox.snapshots import Snapshots, SnapshotWriter
from loci.code.python_run import Ran, RunFailure
from loci.sandbox.supervisor.executor_process import ExecutorProcess
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.python.test_dying import after, before, kill_executor
from tests.attack.sandbox.python.test_meters import WALLS
from tests.attack.sandbox.python.test_saved_state import Here
from tests.contract.stores import ANN
from tests.support.each import each
from tests.support.polling import until

FIRST = "x = 1; data = bytes([1]) * (5 << 20); same = 'same'"
SECOND = "x = 2; data = bytes([2]) * (5 << 20)"
READ = "print(x, data[0], data[-1], len(data) >> 20, same)"
OLD, NEW = "1 1 1 5 same\n", "2 2 2 5 same\n"
SLOW = """
import time
class Slow:
    def __reduce__(self):
        time.sleep(120)
        return (Slow, ())
"""
MOMENTS: dict[str, tuple[Any, str, Any, bool]] = {
    "before it is asked": (ExecutorProcess, "save", before, False),
    "before bytes are taken": (SnapshotWriter, "take", before, False),
    "after a piece is written": (SnapshotWriter, "_write", after, False),
    "after all bytes came": (ExecutorProcess, "save", after, False),
    "before the record": (Snapshots, "finish", before, False),
    "after the record, before the last one is removed": (SnapshotWriter, "end", before, True),
    "after it is finished": (Snapshots, "finish", after, True),
}
"""Where and how, and if the new snapshot is the last one then."""
PIECE = 1 << 20


@pytest.fixture(params=WALLS)
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Here]:
    made = Here(tmp_path, request.param)
    yield made
    made.executors.close()


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "PIECE", PIECE)


def save(here: Here) -> None:
    for session in here.executors.sessions():
        session.save()


def at(name: str, act: Callable[[], None], patch: Callable[[Any, str, Any], None]) -> None:
    """Have this done at the moment, once."""
    where, attribute, wrap, _ = MOMENTS[name]
    left = [act]
    patch(where, attribute, wrap(getattr(where, attribute), lambda: left and left.pop()()))


def is_as_told(told: Ran, text: str) -> bool:
    assert not isinstance(told.outcome, RunFailure), told
    older = ["data", "x"] if text == OLD else []
    return (told.stdout, sorted(told.condition.older), told.condition.lost) == (text, older, ())


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
        is_new = MOMENTS[name][3] or name in ("after all bytes came", "before the record")
        told = here.ran(ANN, id, READ)
        expected = (OLD, NEW) if name == "after a piece is written" else (NEW if is_new else OLD,)
        assert told.stdout in expected
        assert is_as_told(told, told.stdout)
        here.restart()
        assert here.ran(ANN, id, READ).stdout == told.stdout
        here.executors.forget(ANN, id)


def killed_server(folder: str, wall: str, name: str) -> None:
    """What the killed server does."""
    snapshots.PIECE = PIECE
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


def test_a_run_that_comes_while_it_is_saved_has_its_answer_and_nothing_counts_as_saved(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = here.executors.open(ANN)
    here.ran(ANN, id, FIRST)
    save(here)
    here.ran(ANN, id, SECOND + SLOW + "slow = Slow()")
    began = Event()
    [session] = here.executors.sessions()
    taken = session._snapshots.writer  # pyright: ignore[reportPrivateUsage]

    def writer(*given: Any) -> Any:
        began.set()
        return taken(*given)

    monkeypatch.setattr(session._snapshots, "writer", writer)  # pyright: ignore[reportPrivateUsage]
    saving = Thread(target=save, args=[here])
    saving.start()
    assert began.wait(60)
    assert here.ran(ANN, id, READ).stdout == NEW
    saving.join(60)
    assert not saving.is_alive()
    kill_executor(here)
    until(lambda: not session._executor or not session._executor.is_alive)  # pyright: ignore[reportPrivateUsage]
    told = here.ran(ANN, id, READ)
    assert told.stdout == OLD
    assert set(told.condition.older) >= {"data", "x"}  # all that may be: what was handed over was not kept
    assert {one.name for one in told.condition.lost} == {"Slow", "slow", "time"}


def test_what_was_not_saved_is_saved_the_next_time(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    id = here.executors.open(ANN)
    here.ran(ANN, id, FIRST)
    save(here)
    here.ran(ANN, id, SECOND)
    [session] = here.executors.sessions()
    waits = object()
    at("before it is asked", lambda: session._waiting.add(waits), monkeypatch.setattr)  # pyright: ignore
    monkeypatch.setattr("loci.sandbox.supervisor.exchange.BEGUN_SECONDS", 0)
    save(here)
    session._waiting.discard(waits)  # pyright: ignore[reportPrivateUsage]
    here.ran(ANN, id, "pass")  # it changes nothing, and still all of it is to be saved
    save(here)
    kill_executor(here)
    assert is_as_told(here.ran(ANN, id, READ), NEW)
