"""Connections that end with the test."""

from collections.abc import Iterator

import pytest

from loci.adapters.tool_servers import diagnostics
from loci.adapters.tool_servers.connections import Connections


@pytest.fixture
def connections() -> Iterator[Connections]:
    made = Connections()
    yield made
    made.close()


@pytest.fixture
def soon_a_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine nobody sends, or reads, as many messages in the time of a call as are too many else."""
    monkeypatch.setattr(diagnostics, "BURST", 200)
    monkeypatch.setattr(diagnostics, "A_SECOND", 5)
