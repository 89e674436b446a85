"""For all tests: the real model, and what a run says at its end."""

from tests.servers.reporting import pytest_terminal_summary
from tests.support.minilm import minilm

__all__ = ["minilm", "pytest_terminal_summary"]
