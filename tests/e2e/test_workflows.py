"""`loci approve`, and the page about workflows: its plan runs as it is written, with real servers."""

import json
import re
import shlex
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import ANY

from loci.auth.pins import Pins
from loci.compose import build_app
from loci.core.settings import load_settings
from tests.e2e.in_process import loci
from tests.servers.upstream.real import node_server
from tests.support.at_terminal import at_terminal
from tests.support.deno import needs_deno
from tests.support.docs import DOCS
from tests.support.serving import LOCI, clean_environment

JOURNAL = Path(__file__).parents[1] / "servers" / "upstream" / "journal.py"
PIN = "hedgehog 7"
HUMAN = {"id": "t1", "tool": "journal:deploy", "arguments": {"value": "v2"}, "approve": "human"}


def asked(tmp_path: Path) -> dict[str, Any]:
    """A workflow that waits for a person."""
    data = tmp_path / "data"
    added = loci(data, "tools", "add", "journal", "--", sys.executable, str(JOURNAL), str(tmp_path / "journal"))
    assert added.returncode == 0, added.stderr
    called = loci(data, "call", "pml_execute_dag", json.dumps({"workflow": {"tasks": [HUMAN]}}))
    assert called.returncode == 0, called.stderr
    return json.loads(called.stdout)


def test_a_person_lists_what_waits_and_approves_it(tmp_path: Path) -> None:
    id = asked(tmp_path)["workflow_id"]
    listed = loci(tmp_path / "data", "approve")
    assert id in listed.stdout
    assert "t1 wants to call journal:deploy: the plan says so" in listed.stdout
    assert '{"value": "v2"}' in listed.stdout
    first = loci(tmp_path / "data", "approve", id, "--yes")
    assert (first.returncode, "loci pin" in first.stderr) == (1, True)
    environment = clean_environment(tmp_path / "data")
    assert at_terminal([*LOCI, "pin"], environment, PIN, PIN) == (0, ANY)
    approved = at_terminal([*LOCI, "approve", id, "--yes", "--feedback", "tested"], environment, PIN)
    assert (approved[0], approved[1].endswith(f"{id} is complete\n")) == (0, True)
    assert (tmp_path / "journal").read_text().count('"begin"') == 1
    assert "Nothing waits" in loci(tmp_path / "data", "approve").stdout


def test_a_pin_is_changed_only_with_the_old_one_and_printed_as_a_hash(tmp_path: Path) -> None:
    environment = clean_environment(tmp_path / "data")
    assert at_terminal([*LOCI, "pin"], environment, "12345") == (1, ANY), "too short"
    assert at_terminal([*LOCI, "pin"], environment, PIN, "hedgehog 8") == (1, ANY), "not the same"
    assert at_terminal([*LOCI, "pin"], environment, PIN, PIN)[0] == 0
    assert at_terminal([*LOCI, "pin"], environment, "hedgehog 8")[0] == 1
    assert at_terminal([*LOCI, "pin"], environment, PIN, "hedgehog 8", "hedgehog 8")[0] == 0
    code, said = at_terminal([*LOCI, "pin", "--print"], environment, PIN, PIN)
    [line] = [line for line in said.splitlines() if line.startswith("scrypt$")]
    assert code == 0
    Pins(build_app(load_settings({"data": tmp_path / "other"})).records, time.time, line).check(PIN)


def test_a_person_rejects_it(tmp_path: Path) -> None:
    id = asked(tmp_path)["workflow_id"]
    [line] = re.findall(r"`loci (approve WORKFLOW --reject [^`]+)`", (DOCS / "approvals.md").read_text("utf-8"))
    rejected = shlex.split(line.replace("WORKFLOW", id))
    answer = json.loads(loci(tmp_path / "data", *rejected, "--json").stdout)
    assert (answer["status"], answer["tasks"][0]["status"]) == ("aborted", "skipped")
    assert not (tmp_path / "journal").exists()
    again = loci(tmp_path / "data", "approve", id)
    assert (again.returncode, "waits for no answer" in again.stderr) == (1, True)


def test_without_a_yes_nothing_runs(tmp_path: Path) -> None:
    id = asked(tmp_path)["workflow_id"]
    assert loci(tmp_path / "data", "approve", id).returncode == 1  # nobody can answer: its input is empty
    assert not (tmp_path / "journal").exists()


@needs_deno
def test_the_plan_of_the_page_runs_as_it_is_written(tmp_path: Path) -> None:
    [plan] = re.findall(r"```json\n(.*?)```", (DOCS / "workflows.md").read_text("utf-8"), re.DOTALL)
    data, files = tmp_path / "data", tmp_path / "files"
    files.mkdir()
    (files / "config.json").write_text('{"names": ["loci"]}')
    for name, given in (("filesystem", str(files)), ("memory", "")):
        program = node_server(name, *([given] if given else []))
        kept = f"MEMORY_FILE_PATH={tmp_path / 'memory'}"
        added = loci(data, "tools", "add", name, "--env", kept, "--", program.command, *program.args)
        assert added.returncode == 0, added.stderr
    workflow = json.loads(plan.replace('"config.json"', json.dumps(str(files / "config.json"))))
    called = loci(data, "call", "pml_execute_dag", json.dumps({"workflow": workflow}))
    answer = json.loads(called.stdout)
    assert answer["status"] == "complete", answer
    assert answer["results"]["names"] == ["loci"]
    assert answer["results"]["keep"]["entities"][0]["observations"] == ['It names ["loci"]']
