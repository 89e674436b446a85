"""Workflows on each engine: on threads of this process, and on the state machine with the function's own handler."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loci.app import App
from tests.support.workflow_machine import Machine
from tests.surface.conftest import anyio_backend, app
from tests.surface.workflows.conftest import Flow, flow, machine

__all__ = ["anyio_backend", "app", "flow", "machine"]


@pytest.fixture
def door(tmp_path: Path) -> Path:
    """A file that does not exist yet, for which tools wait."""
    return tmp_path / "door"


@contextmanager
def opened(door: Path) -> Generator[None]:
    """Nothing waits for it afterwards, whatever happened."""
    try:
        yield
    finally:
        door.touch()


@pytest.fixture
def on_machine(app: App, flow: Flow, machine: Machine) -> Machine:
    """The machine of the same app."""
    assert app.settings.mode == "aws"
    assert flow.app is app
    return machine
