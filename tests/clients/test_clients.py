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
from jsonschema import Draft202012Validator

from infra.node import NODE
from tests.conformance.calls import SAID, TOOLS, TYPICAL, WORKING, Served, served
from tests.support import environments, npm_packages
from tests.support.polling import until
from tests.support.serving import LOCI
from tests.surface.test_listing import SNAPSHOT
from tests.surface.test_strict_mode import FREE, Schema

pytestmark = pytest.mark.clients

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = sorted(wanted.stem for wanted in HERE.glob("*.in"))
"""Each in an environment of its own."""
LIBRARIES = [*PYTHON, "openai_agents strict", "mcp_2", "mcp_remote", "ai_sdk", "typescript 1.10", "typescript 2.4"]
STRICT = ["langchain", "mcp_use", "openai_agents strict", "pydantic_ai"]
"""The libraries that convert tools to OpenAI's strict mode."""
LISTED: dict[str, Schema] = {one["name"]: one["inputSchema"] for one in json.loads(SNAPSHOT.read_text("utf-8"))}
FAILING = [(tool, arguments) for tool, arguments in TYPICAL.items() if tool in TOOLS]
TELL_NOBODY = {"langchain", "mcp_1", "mcp_use"}
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
    schemas: dict[str, Schema]
    strict: dict[str, Schema]
    cancelled: bool | None
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
    over_stdio = [*LOCI, "serve", "--no-models", "--data", str(server.data)]
    plan = {
        "url": server.url,
        "command": over_stdio,
        "journal": str(server.journal),
        "waits": waits,
        "calls": [*WORKING, *FAILING],
    }
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
    return Told(str(request.param), server, **said)


def _driver(library: str) -> list[str | Path]:
    if library in PYTHON:
        lock = ROOT / "requirements" / "clients" / f"{library}.lock"
        python = environments.made(ROOT / "build" / "clients" / library, Path(sys.executable), lock)
        return [python, HERE / f"drive_{library}.py"]
    npm_packages.install(HERE)
    in_node = HERE / f"drive_{library}.ts"
    return [NODE, in_node] if in_node.exists() else [sys.executable, HERE / f"drive_{library}.py"]


def test_it_has_a_tool_of_its_own_for_each(told: Told) -> None:
    """With all arguments that the server lists, so that a model knows them."""
    assert told.schemas.keys() == set(TOOLS)
    for tool, schema in told.schemas.items():
        assert schema["properties"].keys() == LISTED[tool]["properties"].keys(), tool


def test_its_strict_form_is_one(told: Told) -> None:
    """Of all tools but those in `FREE`: these have objects of any fields, for which strict mode has no form."""
    expected = set(TOOLS) - FREE.keys() if told.library in STRICT else set[str]()
    assert told.strict.keys() - FREE.keys() == expected
    for tool in expected:
        Draft202012Validator.check_schema(told.strict[tool])
        for one in parts(told.strict[tool]):
            if "properties" in one or one.get("type") == "object":
                assert one["additionalProperties"] is False, (tool, one)
                assert set(one.get("required", ())) == one["properties"].keys(), (tool, one)


def parts(schema: Schema) -> Iterator[Schema]:
    """The schema, and all in it."""
    yield schema
    named = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    for one in (*named, *schema.get("anyOf", ()), schema.get("items")):
        if one:
            yield from parts(one)


def test_its_calls_are_answered(told: Told) -> None:
    for (tool, _), word, answer in zip(WORKING, SAID, told.answers, strict=False):
        assert word in answer, (tool, answer)


def test_an_error_reaches_its_model_with_code_and_advice(told: Told) -> None:
    for (tool, arguments), answer in zip(FAILING, told.answers[len(WORKING) :], strict=True):
        assert told.server.error_text(tool, arguments) in answer, (tool, answer)


def test_a_call_that_it_cancels_ends(told: Told, request: pytest.FixtureRequest) -> None:
    if told.cancelled is None:
        pytest.skip(f"{told.library} has no way to cancel a call")
    assert told.cancelled
    if told.library in TELL_NOBODY:
        request.applymarker(pytest.mark.xfail(reason="it does not say so to the server", strict=True))
        assert '"cancelled"' in told.server.seen()
    until(lambda: '"cancelled"' in told.server.seen())
