"""Code gets no processor after its answer, except for seconds in which its variables are saved as it is put away."""

import os
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from loci.adapters.local.executors import confined_executors, executor_session
from loci.code.ports import RunFailure
from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.sandbox.supervisor.executor_process import ExecutorProcess
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.python.test_meters import WALLS
from tests.attack.sandbox.python.test_saved_state import IDLE, Here
from tests.contract.stores import ANN, CLOCK, START
from tests.support.each import each
from tests.support.executors import PATIENT, ExecutorFactory, executor_factory, printed, walls
from tests.support.polling import until
from tests.support.processes import threads

BUSY = "sum(i * i for i in range(1_000_000))"
"""Takes a good part of a second of a processor: the time in which others would have theirs."""
GOES_ON = {
    "a thread": "import threading\ndef f():\n while True: pass\nthreading.Thread(target=f, daemon=True).start()",
    "threads in numbers": """
import threading, zlib
def f():
    while True: zlib.compress(bytes(1 << 20))
for _ in range(8): threading.Thread(target=f, daemon=True).start()
""",
    "a timer's signal": """
import signal
def again(*_):
    for i in range(100_000): pass
signal.signal(signal.SIGALRM, again); signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
""",
    "a handler of the signal that continues it": """
import signal
def again(*_):
    for i in range(1_000_000): pass
for one in (signal.SIGCONT, signal.SIGTSTP, signal.SIGCHLD): signal.signal(one, again)
""",
    "a timer": "import threading\ndef f():\n threading.Timer(0.01, f).start()\n for i in range(10**6): pass\nf()",
    "an end of the interpreter": "import atexit\ndef f():\n while True: pass\natexit.register(f)",
}
NEVER = {
    "reducing": "class A:\n def __reduce__(self):\n  while True: pass\na = A()",
    "reducing that hears no interrupt": """
class A:
    def __reduce__(self):
        while True:
            try:
                while True: pass
            except BaseException: pass
a = A()
""",
    "its state": "class A:\n def __getstate__(self):\n  while True: pass\na = A()",
    "a thread beside saving": """
import threading, time
def f():
    while True: pass
threading.Thread(target=f, daemon=True).start()
class A:
    def __reduce__(self):
        while True: time.sleep(0.01)
a = A()
""",
}
SAVING = 0.3
"""Seconds that saving may take here."""


def used(process: int) -> float:
    """Seconds of processors that it has had."""
    fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_stopped(process: int) -> bool:
    """True if none of its threads runs: they do not stop at the same moment."""
    try:
        states = [(one / "stat").read_bytes().rpartition(b")")[2].split()[0] for one in threads(process)]
    except OSError:  # one has just ended
        return False
    return set(states) == {b"T"}


@pytest.fixture(scope="module", params=WALLS)
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[ExecutorFactory]:
    with executor_factory(tmp_path_factory.mktemp("after"), walls()[request.param], ()) as one:
        yield one


@each("name", GOES_ON)
def test_what_goes_on_after_the_answer_gets_no_processor(python: ExecutorFactory, tried: Tried, name: str) -> None:
    with tried(name), python.executor(PATIENT) as one, python.executor(PATIENT) as other:
        for code in (GOES_ON[name], "1"):  # and not after a second one either
            printed(one, code)
            until(lambda: is_stopped(one.id))
            before = used(one.id)
            assert printed(other, f"print({BUSY} > 0)") == "True\n"
            assert used(one.id) == before


@pytest.fixture(params=WALLS)
def here(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Here]:
    monkeypatch.setattr(confined_executors, "CLOSE_SECONDS", SAVING)
    made = Here(tmp_path, request.param)
    try:
        yield made
        made.executors.close()
    finally:
        CLOCK.now = START


def process(here: Here, owner: Owner) -> ExecutorProcess:
    [session] = [one for one in here.executors.sessions() if one.owner == owner]
    executor = session._executor  # pyright: ignore[reportPrivateUsage]
    assert executor is not None
    return executor


@each("name", NEVER)
def test_saving_that_never_ends_has_its_seconds_once(
    here: Here, monkeypatch: pytest.MonkeyPatch, tried: Tried, name: str
) -> None:
    monkeypatch.setattr(executor_session, "SAVE_SECONDS", SAVING)
    ann, bob = (Owner("acme", f"{whose} {name}") for whose in ("ann", "bob"))
    with tried(name), pytest.MonkeyPatch.context() as patch:
        asked, save = list[tuple[int, float]](), ExecutorProcess.save

        def seen(one: ExecutorProcess, take: Any, room: int, seconds: float, *more: Any) -> Any:
            asked.append((one.id, seconds))
            return save(one, take, room, seconds, *more)

        patch.setattr(ExecutorProcess, "save", seen)
        id = here.executors.open(ann)
        ran = here.ran(ann, id, NEVER[name])
        assert not isinstance(ran.outcome, RunFailure), ran
        hostile = process(here, ann)
        CLOCK.now += IDLE
        here.ran(bob, here.executors.open(bob), BUSY)
        until(lambda: hostile.ended is not None)  # tidied by us or by the thread that does so
        here.executors.tidy()
        assert [seconds for one, seconds in asked if one == hostile.id] == [SAVING]


def test_processes_that_do_not_let_themselves_be_saved_take_no_more_places(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined_executors, "MOST_HERE", 2)
    monkeypatch.setattr(confined_executors, "BUSY_SECONDS", 0.1)
    monkeypatch.setattr(executor_session, "SAVE_SECONDS", SAVING)
    refusals: set[str] = set()
    for _ in range(5):
        id = here.executors.open(ANN)
        try:
            here.ran(ANN, id, NEVER["reducing that hears no interrupt"])
        except Refused as error:
            refusals.add(error.code)
        # One that was refused has a process in which nothing has run. It goes at once, when the next one comes.
        until(lambda: sum(one.is_here for one in here.executors.sessions()) <= 3)
    assert refusals <= {"EXECUTOR_BUSY"}
    for session in here.executors.sessions():
        if (executor := session._executor) is not None:  # pyright: ignore[reportPrivateUsage]
            executor.end()


def test_runs_that_begin_at_once_have_no_more_processes_than_one_owner_may(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined_executors, "MOST_HERE", 4)
    monkeypatch.setattr(confined_executors, "BUSY_SECONDS", 30.0)
    ids = [here.executors.open(ANN) for _ in range(8)]
    for id in ids:
        here.ran(ANN, id, "x = 1")
    until(lambda: processes(here) == 4)
    away = [one.id for one in here.executors.sessions() if not one.is_here]
    with ThreadPoolExecutor(len(away)) as pool:
        runs = [pool.submit(here.ran, ANN, id, "import time; time.sleep(0.3); x") for id in away]
        most = 0
        while not all(one.done() for one in runs):
            most = max(most, processes(here))
    assert [one.result().outcome for one in runs] == [runs[0].result().outcome] * 4
    assert most <= 5  # one more, until the oldest is put away


def processes(here: Here) -> int:
    return sum(one.is_here for one in here.executors.sessions())
