"""Connections that end with the test."""

from collections.abc import Iterator

import pytest

from loci.adapters.tool_servers.connections import Connections


@pytest.fixture
def connections() -> Iterator[Connections]:
    made = Connections()
    yield made
    made.close()
