"""`make smoke` against a server on this machine: the same walk as through a deployment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deployed.smoke import STEPS
from tests.support.serving import loci, serving
from tests.surface.results import written

pytestmark = pytest.mark.smoke


def smoke(url: str, key: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.deployed.smoke", url]
    told = {**os.environ, "LOCI_KEY": key}
    return subprocess.run(command, capture_output=True, text=True, env=told, check=False)


def test_a_laptop_passes_and_keeps_nothing_of_it(tmp_path: Path) -> None:
    notes = written(tmp_path / "notes", {"plan.md": "# Plan\n"})
    loci(tmp_path / "data", "ingest", str(notes))
    with serving(tmp_path / "data") as server:
        done = smoke(server.url, "")
    steps = [line.split()[0] for line in done.stdout.splitlines()[1:]]
    # A machine without Deno or a wall skips what needs it.
    assert (done.returncode, len(steps), {*steps} - {"SKIPPED"}) == (0, len(STEPS), {"ok"}), done.stdout + done.stderr
    assert [one.name for one in notes.rglob("*.md")] == ["plan.md"]


def test_a_server_that_refuses_the_key_fails_it_and_says_how_to_ask_why(tmp_path: Path) -> None:
    with serving(tmp_path / "data", LOCI_AUTH="required") as server:
        done = smoke(server.url, "loci_wrong")
    assert done.returncode == 1
    assert "gives no session" in done.stderr
    assert f"loci doctor --url {server.url}/mcp" in done.stderr
