"""Fails a test that leaves something behind: a thread, a child process, a socket, a variable, a moved clock."""

import gc
import os
import re
import socket
import stat
import threading
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest
from _pytest.fixtures import FixtureDef, SubRequest

from tests.support.processes import children, command_line

Held = dict[str, str]
"""Each thing that is there now, with its description."""

CLOCKS = {name: getattr(time, name) for name in ("time", "time_ns", "monotonic", "perf_counter")}
IGNORED = {"OPENBLAS_NUM_THREADS", "PYTEST_CURRENT_TEST"}
"""Variables that the first app of a process sets, and pytest."""
POOLED = re.compile(r"daemon|(loci|loci \w+|inference|question|tool servers|vectors|workflows)_\d+")
"""The threads of a process, which wait for the next work."""
LASTING = ("tests.support.preloaded", "/all-tests-", "loci.core.worker_process")
"""In the command lines of processes that last: what forks commands, a tool server for all tests, and what
waits a minute for the next large text.
"""
DESCRIPTORS = Path("/proc/self/fd")
PATIENCE = 30.0
"""Seconds in which what is about to end may end."""

_before: dict[Path, Held] = {}
"""What was there before the tests that share fixtures, by their place."""
_seen: dict[str, Held] = {}
"""What was there at the end of a test, and so before the next."""
_lasting: Held = {}
"""What the fixtures of the whole session hold, and what was told already."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    if (place := _place(item)) not in _before:
        _before[place] = _seen.pop("now", None) or _held()
    yield


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: FixtureDef[object], request: SubRequest) -> Generator[None, object, object]:
    before = _held() if fixturedef.scope == "session" else {}
    made = yield
    if fixturedef.scope == "session":
        _lasting.update({name: one for name, one in _held().items() if name not in before})
    return made


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    yield
    _seen.clear()
    cast("pytest.Function", item).funcargs.clear()  # else it still holds them
    over = [place for place in _before if nextitem is None or not _own_place(nextitem).is_relative_to(place)]
    before = [_before.pop(place) for place in over]
    is_asked = item.config.getoption("circle", "test") == "test"  # the others' tests were not looked through
    if is_asked and _place(item) in over and (left := _left(before[0])):
        _lasting.update(left)
        pytest.fail(f"left behind: {', '.join(sorted(left.values()))}", pytrace=False)


def _own_place(item: pytest.Item) -> Path:
    return item.path / item.name


def _place(item: pytest.Item) -> Path:
    """Where the tests are that share its fixtures, and hold what it has them begin: a folder, a module, or itself."""
    info = cast("pytest.Function", item)._fixtureinfo  # pyright: ignore[reportPrivateUsage]
    scopes = {one.scope for found in info.name2fixturedefs.values() for one in found}
    if "package" in scopes:
        return item.path.parent
    return item.path if scopes & {"module", "class"} else _own_place(item)


def _left(before: Held) -> Held:
    end, pause = time.monotonic() + PATIENCE, 0.001
    while True:
        now = _held()
        left = {name: one for name, one in now.items() if name not in before and name not in _lasting}
        if not left or time.monotonic() > end:
            _seen["now"] = now
            return left
        time.sleep(pause)
        pause = min(2 * pause, 0.1)
        if pause > 0.01:  # slow, and most of what is about to end needs none
            gc.collect()


def _held() -> Held:
    threads = [one for one in threading.enumerate() if not POOLED.fullmatch(one.name)]
    held = {f"thread {one.native_id}": f"the thread {one.name}" for one in threads}
    for name, value in os.environ.items():
        if name not in IGNORED:
            held[f"variable {name}={value}"] = f"the variable {name}"
    for name, clock in CLOCKS.items():
        if getattr(time, name) is not clock:
            held[f"clock {name}"] = f"another time.{name}"
    for process in children(os.getpid()):
        command = command_line(process).replace(b"\0", b" ").decode(errors="replace").strip()
        if command and not any(name in command for name in LASTING):  # without one, it has ended
            held[f"process {process}"] = f"the process {process} ({command})"
    return held | _connections()


def _connections() -> Held:
    """The sockets of TCP; those of the event loops and of pipes to processes are none."""
    held: Held = {}
    for name in os.listdir(DESCRIPTORS) if DESCRIPTORS.exists() else []:  # noqa: PTH208 (quicker)
        with suppress(OSError):  # it may be closed meanwhile
            status = os.fstat(number := int(name))
            if stat.S_ISSOCK(status.st_mode):
                one = socket.socket(fileno=number)
                if one.family in (socket.AF_INET, socket.AF_INET6):
                    held[f"socket {status.st_ino}"] = f"the socket {one.getsockname()}"
                one.detach()
    return held
