"""The tools of public MCP servers: each is installed at its pinned version, started without an account, and asked.

`python -m tests.quality.tool_definitions` does so, and keeps the lists in `build/`.
"""

import hashlib
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from infra.node import NODE, NPM
from loci.adapters.tool_servers.connections import Connections
from loci.core.identity import LOCAL
from loci.gateway.tool_server import Program, ToolServer
from loci.gateway.tool_words import KnownTool

SERVERS = Path(__file__).parent / "tool_sets" / "servers.json"
BUILD = Path(__file__).parents[2] / "build" / "tool_definitions"
SECONDS = 60.0
KEYS = {"installed": {"client_id": "x", "client_secret": "y", "redirect_uris": ["http://localhost"]}}


def listed_tools() -> list[KnownTool]:
    """The tools that the servers list."""
    kept = BUILD / f"{hashlib.sha256(SERVERS.read_bytes()).hexdigest()[:16]}.json"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps([asdict(one) for one in _asked()], ensure_ascii=False), "utf-8")
    return [KnownTool(**one) for one in json.loads(kept.read_text("utf-8"))]


def programs() -> dict[str, Program]:
    """The servers, by their names. Call `listed_tools` before: it installs them."""
    home = BUILD / "home"
    return {
        one["server"]: Program(*_command(one), {"HOME": str(home), **one.get("env", {})}, str(BUILD))
        for one in _servers()
    }


def _servers() -> list[dict[str, Any]]:
    return json.loads(SERVERS.read_text("utf-8"))


def _asked() -> Iterator[KnownTool]:
    home = BUILD / "home"
    (home / ".gmail-mcp").mkdir(parents=True, exist_ok=True)
    for file in (BUILD / "keys.json", home / ".gmail-mcp" / "gcp-oauth.keys.json"):
        file.write_text(json.dumps(KEYS))
    _install(_servers())
    connections = Connections()
    try:
        for name, program in programs().items():
            tools = connections.tools(LOCAL, ToolServer(name, program, SECONDS))
            print(f"{name}: {len(tools)} tools", file=sys.stderr, flush=True)
            for one in tools:
                title = one.title or str(one.annotations.get("title") or "")
                yield KnownTool(one.id, title, one.description, one.input_schema)
            connections.close(LOCAL, name)
    finally:
        connections.close()


def _install(servers: list[dict[str, Any]]) -> None:
    """Packages of Python each get an environment: they need different versions of others."""
    packages = [(*one["package"].partition(":")[::2], one["version"]) for one in servers]
    npm = [NODE, NPM, "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(BUILD)]
    subprocess.run([*npm, *(f"{name}@{version}" for kind, name, version in packages if kind == "npm")], check=True)
    for name, version in [(name, version) for kind, name, version in packages if kind == "pypi"]:
        venv.create(BUILD / name, with_pip=True)
        pip = [BUILD / name / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"{name}=={version}"], check=True)


def _command(server: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The program of a package: its only one, or its first."""
    kind, _, package = server["package"].partition(":")
    more: list[str] = server.get("args", [])
    if kind == "pypi":
        return str(BUILD / package / "bin" / package), tuple(more)
    folder = BUILD / "node_modules" / package
    programs: Any = json.loads((folder / "package.json").read_text("utf-8"))["bin"]
    program = programs if isinstance(programs, str) else next(iter(programs.values()))
    return os.fspath(NODE), (str(folder / program), *more)


if __name__ == "__main__":
    print(f"{len(listed_tools())} tools")
