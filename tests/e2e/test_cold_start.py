"""What a start loads, of the gateway's function and of commands, and in which order."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.each import each
from tests.support.serving import clean_environment

ROOT = Path(__file__).resolve().parents[2]
LOADED = """
import json, runpy, sys

from tests.support.each import each
runpy.run_path("functions/gateway/handler.py")
print(json.dumps(list(sys.modules)))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The modules that the function has when it is ready for its first request, in the order in which each began."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI_", "AWS_"))}
    data = tmp_path_factory.mktemp("data")
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        cwd=ROOT,
        env={**kept, "LOCI_DATA": str(data), "LOCI_AUTH": "open"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_the_sdk_is_imported_before_ours(loaded: list[str]) -> None:
    """Nested below ours, it takes a twelfth of a cold start longer."""
    assert loaded.index("mcp.server.mcpserver") < loaded.index("loci.compose")


VERTICALS = [
    "loci.authoring.api",
    "loci.code.api",
    "loci.documents.api",
    "loci.events.api",
    "loci.files.api",
    "loci.gateway.api",
    "loci.graph.api",
    "loci.transfer.api",
    "loci.web.browser_auth",
    "loci.workflows.api",
]
COMMAND = """
import json, sys
from loci.cli.main import main
try:
    {}
finally:
    print()
    print(json.dumps(list(sys.modules)))
"""
WIRE = """
import os, runpy, sys
from loci.cli.main import main
try:
    {}
finally:
    from mcp_types._v2025_11_25 import ListRootsRequest
    os.write(1, b"made" if ListRootsRequest.__pydantic_complete__ else b"waits")
"""


@each("name", VERTICALS)
def test_a_vertical_waits_for_its_first_request(loaded: list[str], name: str) -> None:
    assert name not in loaded


@each(
    ("does", "late"),
    [
        ("import loci.cli.background, loci.cli.serve, loci.compose, loci.mcp.stdio", VERTICALS),
        ('sys.argv = ["loci", "search", "--help"]; main()', ["loci.app", "mcp", "pydantic", "rich"]),
        ('sys.argv = ["loci", "call", "--help"]; main()', ["loci.app", "mcp", "pydantic", "rich"]),
        ('sys.argv = ["loci", "search", "pier"]; main()', ["mcp", "rich"]),
    ],
)
def test_a_command_begins_with_little(tmp_path: Path, does: str, late: list[str]) -> None:
    command, env = [sys.executable, "-c", COMMAND.format(does)], clean_environment(tmp_path / "data")
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert [one for one in late if one in loaded] == []


@each(
    "does",
    [
        'runpy.run_path("functions/gateway/handler.py")',
        'sys.argv = ["loci", "serve", "--stdio"]; main()',
        'sys.argv = ["loci", "call", "scratchpad_list"]; main()',
    ],
)
def test_a_model_of_the_wire_waits_for_its_first_use(tmp_path: Path, does: str) -> None:
    command, env = [sys.executable, "-c", WIRE.format(does)], clean_environment(tmp_path / "data", LOCI_AUTH="open")
    done = subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert (done.stdout or done.stderr).endswith(b"waits")  # over stdio only the client is written to
