"""One LocalStack for all tests of a run, started by the first that needs it."""

import atexit
import os
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
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(missing))


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
    """What each stage took, and why tests were skipped."""
    for name, seconds in STAGES.items():
        terminalreporter.write_line(f"{name:<22} {seconds:6.1f} s")
    for reason in sorted(SKIPPED):
        terminalreporter.write_line(reason, red=True, bold=True)
