"""One LocalStack for all tests of a run, started by the first that needs it."""

import atexit
import time
from functools import cache

import pytest

from tests.servers.localstack.environments import NoInterpreter, environments
from tests.servers.localstack.running import LocalStack, start, stop

STAGES: dict[str, float] = {}
"""Seconds that each stage has taken; printed at the end."""
SKIPPED: set[str] = set()
"""Why tests were skipped; each reason is printed once."""


def shared() -> LocalStack:
    """The run's server; without a Python 3.13 the test is skipped."""
    try:
        return _started()
    except NoInterpreter as missing:
        SKIPPED.add(str(missing))
        pytest.skip(str(missing))


@cache
def _started() -> LocalStack:
    began = time.monotonic()
    environments()
    STAGES["Python environments"], began = time.monotonic() - began, time.monotonic()
    server = start()
    atexit.register(stop, server)
    STAGES["LocalStack start"] = time.monotonic() - began
    return server


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Imported by the conftest files of the tests that use it; what one has printed the next does not."""
    for name in list(STAGES):
        terminalreporter.write_line(f"{name:<22} {STAGES.pop(name):7.2f} s")
    while SKIPPED:
        terminalreporter.write_line(SKIPPED.pop(), red=True, bold=True)
