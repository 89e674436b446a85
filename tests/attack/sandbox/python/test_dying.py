"""No call fails because a process of ours died: whichever it is, and whenever."""

import itertools
import os
import signal
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from loci.code.ports import RunFailure
from loci.sandbox.supervisor import fork_server_client
from loci.sandbox.supervisor.executor_process import ExecutorProcess
from loci.sandbox.supervisor.fork_server_client import ForkServer
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.python.test_meters import WALLS
from tests.attack.sandbox.python.test_saved_state import Here
from tests.contract.stores import ANN
from tests.support.each import each
from tests.support.polling import until
from tests.support.processes import descendants, is_alive

Kill = Callable[[], None]
Wrap = Callable[[Any, Kill], Any]


def before(real: Any, kill: Kill) -> Any:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        kill()
        return real(*args, **kwargs)

    return wrapped


def after(real: Any, kill: Kill) -> Any:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        kill()
        return result

    return wrapped


MOMENTS: dict[str, tuple[Any, str, Wrap]] = {
    "before it is asked": (ForkServer, "_fork", before),
    "after it has forked": (ForkServer, "_fork", after),
    "after the wall is up": (fork_server_client, "_handle", after),
    "after the executor is ready": (ExecutorProcess, "wait_until_ready", after),
    "before variables are restored": (ExecutorProcess, "restore", before),
    "before the run": (ExecutorProcess, "run", before),
}


@pytest.fixture(params=WALLS)
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Here]:
    made = Here(tmp_path, request.param)
    yield made
    made.executors.close()


def servers(here: Here) -> list[ForkServer]:
    server = here.executors._starter._forks._server  # pyright: ignore[reportPrivateUsage]
    return [server] if server else []


def kill_server(here: Here) -> None:
    """Kill it, and wait until what it started is gone: no code may begin in that."""
    for one in servers(here):
        process = one._process  # pyright: ignore[reportPrivateUsage]
        there = descendants(process.pid)
        process.kill()
        with suppress(ChildProcessError):  # who started it has noticed first
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        until(lambda there=there: not any(is_alive(child) for child in there))


def kill_executor(here: Here) -> None:
    for session in here.executors.sessions():
        executor = session._executor  # pyright: ignore[reportPrivateUsage]
        if executor is not None and executor.ended is None:
            os.kill(executor.id, signal.SIGKILL)


@each(("name", "victim", "times"), itertools.product(MOMENTS, (kill_server, kill_executor), (1, 2)))
def test_a_run_has_its_answer_and_its_variables(
    here: Here, tried: Tried, name: str, victim: Callable[[Here], None], times: int
) -> None:
    id = here.executors.open(ANN)
    assert not isinstance(here.ran(ANN, id, "x = 41").outcome, RunFailure)
    here.restart()
    left = [times]

    def kill() -> None:
        if left[0]:
            left[0] -= 1
            victim(here)

    where, attribute, wrap = MOMENTS[name]
    with tried(f"{victim.__name__} {name} {times}"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, attribute, wrap(getattr(where, attribute), kill))
        told = here.ran(ANN, id, "print(x + 1)")
        assert told.stdout == "42\n", told
        assert told.condition.lost == ()


def test_a_new_executor_starts_whatever_died(here: Here) -> None:
    here.executors.open(ANN)
    for _ in range(3):
        kill_server(here)
        assert here.ran(ANN, here.executors.open(ANN), "print(1)").stdout == "1\n"
