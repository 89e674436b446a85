"""The last lines of a test run: how long each server took to start, and which servers the machine lacks."""

import os
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from xdist.workermanage import WorkerController  # pyright: ignore[reportMissingTypeStubs]

from tests.servers.errors import NotInstalled

NOT_TESTED = "NOT TESTED"
SECONDS: dict[str, float] = {}
"""What each start or stage took, with what had to be assembled for it."""


@contextmanager
def only_with(name: str, way_out: str) -> Generator[None, None, None]:
    """Skip what needs a program that this machine lacks. In CI it fails: there everything is tested."""
    try:
        yield
    except NotInstalled as lacking:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{NOT_TESTED} on {name}: {lacking}. {way_out}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Give a worker's times to the process that prints them."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["seconds"] = SECONDS  # pyright: ignore


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    """Take a worker's times; one that crashed gives none."""
    SECONDS.update(getattr(node, "workeroutput", {}).get("seconds", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How long each took; one loud line for each server that was missing, however many tests it took with it."""
    for name, seconds in SECONDS.items():
        terminalreporter.write_line(f"{name:<22} {seconds:6.1f} s")
    skipped: list[pytest.TestReport] = terminalreporter.stats.get("skipped", [])
    reasons = {str(report.longrepr[2]) for report in skipped if isinstance(report.longrepr, tuple)}
    for reason in sorted(reasons):
        if NOT_TESTED in reason:
            terminalreporter.write_line(reason.removeprefix("Skipped: "), red=True, bold=True)
