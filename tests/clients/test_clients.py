"""Libraries that agents are built with: each lists the tools, makes its own of them, and calls them in its own way."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.node import NODE
from tests.conformance.calls import TOOLS, TYPICAL, WORKING, Served, served
from tests.support import environments, npm_packages
from tests.support.polling import until

pytestmark = pytest.mark.clients

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = ["fastmcp", "google_adk", "langchain", "llama_index", "mcp_use", "openai_agents", "pydantic_ai"]
LIBRARIES = [*PYTHON, "openai_agents strict", "mcp_remote", "ai_sdk"]
SAYS = ["ferries.md", "Ferry, ferries, ferry.", "tram.md", "bus.md", "journal:echo", "complete"]
"""Words that a model must find in the answer of each call of `WORKING`."""
FAILING = [(tool, arguments) for tool, arguments in TYPICAL.items() if tool in TOOLS]
TELL_NOBODY = {"langchain", "mcp_use"}
"""On version 1 of the Python SDK, which sends nothing when the task of a call is cancelled (python-sdk#2507)."""
ENVIRONMENT = {
    "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}",
    "MCP_USE_ANONYMIZED_TELEMETRY": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "NO_COLOR": "1",
}


@dataclass(frozen=True, slots=True)
class Told:
    """The words of one library after its calls, and of the tool server behind Loci."""

    library: str
    server: Served
    names: list[str]
    cancelled: bool
    answers: list[str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("clients")) as server:
        yield server


@pytest.fixture(scope="module", params=LIBRARIES)
def told(request: pytest.FixtureRequest, server: Served, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A library's run of all calls, in one session of its own; the call that waits is the first, and is cancelled."""
    library, *options = str(request.param).split()
    server.journal.unlink(missing_ok=True)
    home = tmp_path_factory.mktemp(library)
    waits = ("pml_call_tool", {"tool": "journal:wait_for", "arguments": {"file": str(home / "end")}})
    plan = {"url": server.url, "journal": str(server.journal), "waits": waits, "calls": [*WORKING, *FAILING]}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI_", "AWS_", "PYTHON"))}
    done = subprocess.run(
        [*_driver(library), json.dumps(plan), *options],
        cwd=HERE,
        env={**kept, **ENVIRONMENT, "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    (home / "end").touch()
    assert done.returncode == 0, done.stdout + done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return Told(library, server, **said)


def _driver(library: str) -> list[str | Path]:
    if library in PYTHON:
        lock = ROOT / "requirements" / "clients" / f"{library}.lock"
        python = environments.made(ROOT / "build" / "clients" / library, Path(sys.executable), lock)
        return [python, HERE / f"drive_{library}.py"]
    npm_packages.install(HERE)
    return [NODE, HERE / "drive_ai_sdk.ts"] if library == "ai_sdk" else [sys.executable, HERE / "drive_mcp_remote.py"]


def test_it_has_a_tool_of_its_own_for_each(told: Told) -> None:
    assert told.names == sorted(TOOLS)


def test_its_six_calls_are_answered(told: Told) -> None:
    for (tool, _), word, answer in zip(WORKING, SAYS, told.answers, strict=False):
        assert word in answer, (tool, answer)


def test_an_error_reaches_its_model_with_code_and_advice(told: Told) -> None:
    for (tool, arguments), answer in zip(FAILING, told.answers[len(WORKING) :], strict=True):
        assert told.server.error_text(tool, arguments) in answer, (tool, answer)


def test_a_call_that_it_cancels_ends(told: Told, request: pytest.FixtureRequest) -> None:
    assert told.cancelled
    if told.library in TELL_NOBODY:
        request.applymarker(pytest.mark.xfail(reason="it does not say so to the server", strict=True))
        assert '"cancelled"' in told.server.seen()
    until(lambda: '"cancelled"' in told.server.seen())
