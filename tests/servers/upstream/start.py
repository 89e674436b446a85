"""Starts the tool servers beside this file."""

import sys
from collections.abc import Mapping
from pathlib import Path

from loci.gateway.tool_server import AT_ONCE, Program, ToolServer

HERE = Path(__file__).resolve().parent


def hostile(
    mode: str = "plain",
    *args: str,
    name: str = "hostile",
    env: Mapping[str, str] | None = None,
    at_once: int = AT_ONCE,
) -> ToolServer:
    """The server in a mode of `hostile.py`."""
    return ToolServer(
        name, Program(sys.executable, (str(HERE / "hostile.py"), mode, *args), env or {}), at_once=at_once
    )


def modern() -> ToolServer:
    """The server of `modern.py`."""
    return ToolServer("modern", Program(sys.executable, (str(HERE / "modern.py"),)))
