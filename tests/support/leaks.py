"""Fails a test that leaves something behind: a thread, a child process, a socket, a variable, a moved clock."""

import gc
import os
import re
import threading
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest
from _pytest.fixtures import FixtureDef, SubRequest

CLOCKS = {name: getattr(time, name) for name in ("time", "time_ns", "monotonic", "perf_counter")}
IGNORED = {"OPENBLAS_NUM_THREADS", "PYTEST_CURRENT_TEST"}
"""Variables that the first app of a process sets, and pytest."""
POOLED = re.compile(r"daemon|(loci|loci \w+|inference|question|tool servers|vectors)_\d+")
"""The threads of a process, which wait for the next work."""
FORKED = "tests.support.preloaded"
"""The process from which commands are forked."""
PATIENCE = 30.0
"""Seconds in which what is about to end may end."""

Held = dict[str, str]
"""Each thing that is there now, with its description."""

_kept: Held = {}
"""What was there before the test, and what its fixtures of a wider scope hold."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    if not _shares(item) or not _kept:
        _kept.clear()
        _kept.update(_held())
    yield


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: FixtureDef[object], request: SubRequest) -> Generator[None, object, object]:
    before = _held() if fixturedef.scope == "session" else {}
    made = yield
    if fixturedef.scope == "session":
        _kept.update({name: one for name, one in _held().items() if name not in before})
    return made


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    yield
    if _shares(item) and nextitem is not None and nextitem.path == item.path:
        return  # its fixtures of the module go on
    if left := _left():
        pytest.fail(f"left behind: {', '.join(sorted(left.values()))}", pytrace=False)


def _shares(item: pytest.Item) -> bool:
    """True if the test uses fixtures that outlive it, and may hold what the test has them begin."""
    info = cast("pytest.Function", item)._fixtureinfo  # pyright: ignore[reportPrivateUsage]
    fixtures = info.name2fixturedefs.values()
    return any(one.scope in ("module", "class") for found in fixtures for one in found)


def _left() -> Held:
    end = time.monotonic() + PATIENCE
    while left := {name: one for name, one in _held().items() if name not in _kept}:
        gc.collect()
        if time.monotonic() > end:
            return left
        time.sleep(0.01)
    return {}


def _held() -> Held:
    held = {
        f"thread {one.ident}": f"the thread {one.name}"
        for one in threading.enumerate()
        if not POOLED.fullmatch(one.name)
    }
    variables = {name: value for name, value in os.environ.items() if name not in IGNORED}
    held |= {f"variable {name}={value}": f"the variable {name}" for name, value in variables.items()}
    held |= {f"clock {name}": f"another time.{name}" for name, one in CLOCKS.items() if getattr(time, name) is not one}
    for task in Path("/proc/self/task").glob("*"):
        with suppress(OSError):  # a thread may end meanwhile
            held |= {f"process {pid}": f"the process {pid}" for pid in (task / "children").read_text().split()}
    connections = {f"socket:[{inode}]" for inode in _connections()}
    for descriptor in Path("/proc/self/fd").glob("*"):
        with suppress(OSError):
            if (opened := str(descriptor.readlink())) in connections:
                held[opened] = f"an open {opened}"
    return {name: one for name, one in held.items() if not name.startswith("process ") or not _is_forked(name[8:])}


def _connections() -> set[str]:
    """The sockets of TCP on this machine; those of the event loops and of pipes to processes are none."""
    tables = [Path("/proc/net", name) for name in ("tcp", "tcp6")]
    return {line.split()[9] for table in tables if table.exists() for line in table.read_text().splitlines()[1:]}


def _is_forked(pid: str) -> bool:
    try:
        return FORKED.encode() in Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return True  # it has ended
