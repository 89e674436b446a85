"""Loci with a tool server that is a process of its own."""

import sys
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL

HERE = Path(__file__).parents[3]


def upstream(*args: str) -> dict[str, Any]:
    """The entry of the tests' own server."""
    return {"command": sys.executable, "args": ["-m", "tests.support.upstream_server", *args], "cwd": str(HERE)}


@pytest.fixture
def served(app: App) -> App:
    """The app, with that server as `shop`, asked for its tools."""
    app.tools.add(LOCAL, "shop", upstream())
    app.tools.ask(LOCAL, "shop")
    return app
