"""Node and the npm packages pinned beside this file: the conformance suite, the Inspector and the TypeScript SDKs."""

import os
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from infra.node import NODE
from tests.support import npm_packages

Revision = Literal["2025-11-25", "2026-07-28"]

HERE = Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
SUITE = MODULES / "@modelcontextprotocol" / "conformance"
INSPECTOR = MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
COMMAND_LINE = (INSPECTOR, "--cli", "--stored-auth-only", "--format", "json")


def run(
    arguments: Sequence[str | Path],
    *,
    seconds: float = 120,
    cwd: Path = HERE,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run Node to its end; it is killed when the time is up."""
    return subprocess.run(
        [NODE, *arguments],
        cwd=cwd,
        env=environment(env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program of Node."""
    path = os.pathsep.join([str(NODE.parent), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "NO_COLOR": "1", **more, "PATH": path}


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
    return run([*COMMAND_LINE, *arguments], seconds=seconds, cwd=cwd, env={**_home(cwd), **(env or {})})


@contextmanager
def inspecting(*arguments: str, cwd: Path) -> Generator["subprocess.Popen[bytes]"]:
    """The same, while it runs."""
    install()
    with subprocess.Popen(
        [NODE, *COMMAND_LINE, *arguments],
        cwd=cwd,
        env=environment(_home(cwd)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _home(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder), "MCP_CATALOG_PATH": str(folder / "catalog.json")}


def typescript_client(
    version: str, plan: str, *target: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a client of the official SDK, which does the plan's calls: at `http URL`, or with `stdio COMMAND…`."""
    install()
    return run([HERE / "sdk_calls.ts", version, plan, *target], env=env)
