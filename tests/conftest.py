"""What a run says at its end: which servers it could not test on, and how long theirs took."""

import pytest

from tests.servers.java import nodes
from tests.servers.localstack import shared


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    nodes.pytest_terminal_summary(terminalreporter)
    shared.pytest_terminal_summary(terminalreporter)
