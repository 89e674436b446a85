"""Node and the two npm packages pinned beside this file: the conformance suite and the Inspector."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from infra.node import NODE
from tests.support import npm_packages

Revision = Literal["2025-11-25", "2026-07-28"]

HERE = Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
SUITE = MODULES / "@modelcontextprotocol" / "conformance"
INSPECTOR = MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"


def run(
    arguments: Sequence[str | Path],
    *,
    seconds: float = 120,
    cwd: Path = HERE,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run Node to its end; it is killed when the time is up."""
    path = os.pathsep.join([str(NODE.parent), os.environ.get("PATH", os.defpath)])
    return subprocess.run(
        [NODE, *arguments],
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", **(env or {}), "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def install() -> None:
    """Install the locked packages, unless this very lock is installed already."""
    npm_packages.install(HERE)


def conformance(
    url: str,
    revision: Revision,
    results: Path,
    *,
    baseline: Path | None = None,
    seconds: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run every scenario that a revision requires against a server; the checks are written under `results`."""
    install()
    command: list[str | Path] = [SUITE / "dist" / "index.js", "server", "--url", url]
    command += ["--requirements", revision, "--output-dir", results]
    if baseline is not None:
        command += ["--expected-failures", baseline]
    return run(command, seconds=seconds)


def required(revision: Revision) -> tuple[str, ...]:
    """The names of the server scenarios that a revision requires, from the suite's own frozen list."""
    install()
    names: list[str] = []
    section = ""
    for line in (SUITE / "requirements" / f"{revision}.yaml").read_text().splitlines():
        if line.endswith(":") and line[0].isalpha():
            section = line
        elif section == "server:" and line.startswith("  - "):
            names.append(line.removeprefix("  - "))
    return tuple(names)


def inspector(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run the Inspector's command line: a TypeScript client. It keeps its own files under `cwd`."""
    install()
    home = {"HOME": str(cwd), "MCP_CATALOG_PATH": str(cwd / "catalog.json")}
    command = [INSPECTOR, "--cli", "--stored-auth-only", "--format", "json", *arguments]
    return run(command, seconds=seconds, cwd=cwd, env={**home, **(env or {})})


def search_from_typescript(query: str, *target: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a client of the official SDK, which says what it found: at `http URL`, or with `stdio COMMAND…`."""
    install()
    return run([HERE / "sdk_client.ts", query, *target], env=env)
