"""Real tool servers for workflows: files, a memory, and one that releases."""

import sys
from pathlib import Path
from typing import Any

from loci.app import App
from loci.core.identity import LOCAL, Owner
from tests.servers.upstream.real import node_server

ROOT = Path(__file__).parents[3]


def add_files(app: App, folder: Path) -> None:
    """The official server for the files in this folder."""
    folder.mkdir(exist_ok=True)
    program = node_server("filesystem", str(folder))
    _add(app, "filesystem", {"command": program.command, "args": [*program.args], "cwd": str(folder)})


def add_memory(app: App, file: Path) -> None:
    """The official server for a graph of entities, kept in this file."""
    program = node_server("memory")
    _add(app, "memory", {"command": program.command, "args": [*program.args], "env": {"MEMORY_FILE_PATH": str(file)}})


def add_release(app: App, journal: Path) -> None:
    """A server that deploys, and writes into the journal what it did."""
    args = ["-m", "tests.servers.upstream.release", str(journal)]
    _add(app, "release", {"command": sys.executable, "args": args, "cwd": str(ROOT)})


def add_giving(app: App, folder: Path, owner: Owner = LOCAL) -> None:
    """A server whose tool `give` has the result that is in the file of this name in the folder."""
    folder.mkdir(exist_ok=True)
    args = ["-m", "tests.servers.upstream.giving", str(folder)]
    _add(app, "far", {"command": sys.executable, "args": args, "cwd": str(ROOT)}, owner)


def _add(app: App, name: str, entry: dict[str, Any], owner: Owner = LOCAL) -> None:
    app.tools.add(owner, name, entry)
    app.tools.ask(owner, name)
