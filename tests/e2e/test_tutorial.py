"""docs/tutorial.md is true: its commands, typed one after the other beside a server, print what the page says."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.at_terminal import at_terminal
from tests.support.docs import DOCS, blocks_of
from tests.support.serving import LOCI, clean_environment, loci, serving

pytestmark = pytest.mark.smoke
ROOT = DOCS.parent
PIN = "hedgehog 7"


def steps() -> list[tuple[str, str]]:
    """Each command, and what it prints."""
    blocks = blocks_of("tutorial.md", "console")
    return [step for block in blocks for step in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)]


def pattern(said: str) -> str:
    """What is printed: an ellipsis stands for anything, a line of it for any lines."""
    lines = (re.escape(line).replace("…", ".*") for line in said.splitlines())
    return "".join(r"(.*\n)*" if line == ".*" else f"{line}\n" for line in lines)


def test_its_commands_print_what_it_says(tmp_path: Path) -> None:
    home, data, begun = tmp_path / "home", tmp_path / "data", ""
    home.mkdir()
    typed = clean_environment(data, HOME=str(home))
    (tmp_path / "loci").write_text(f'#!/bin/sh\nexec {" ".join(LOCI)} "$@"\n')
    (tmp_path / "loci").chmod(0o700)
    typed["PATH"] = f"{tmp_path}:{typed['PATH']}"
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    with serving(data):
        for command, said in steps():
            if command in ("loci pin", "loci approve WORKFLOW"):
                line = command.replace("WORKFLOW", begun).split()[1:]
                code, printed = at_terminal([*LOCI, *line, *(["--yes"] if begun else [])], typed, PIN, PIN)
            else:
                line = ["bash", "-c", command]
                done = subprocess.run(line, cwd=tmp_path, env=typed, capture_output=True, text=True, check=False)
                code, printed = done.returncode, done.stdout
            assert code == 0, (command, printed)
            assert re.fullmatch(pattern(said), printed.replace(f"{home}", "~")), (command, printed)
            begun = next(iter(re.findall(r"^(wf_\w+) ", printed)), begun)


def test_the_complaints_that_it_counts_are_in_the_reports(tmp_path: Path) -> None:
    year = re.search(r"In (\d{4}) there were (\d+) complaints", (DOCS / "tutorial.md").read_text("utf-8"))
    assert year
    reports = sorted((ROOT / "examples" / "reports").glob(f"*{year[1]}*.xlsx"))
    added = json.loads(loci(tmp_path / "data", "add", "--json", *map(str, reports)).stdout)
    counted = 0
    for one in added["result"]:
        sql = "SELECT sum(Complaints) FROM t1 WHERE District <> 'Total'"
        answer = loci(tmp_path / "data", "call", "query_table", json.dumps({"memory_id": one["id"], "sql": sql}))
        counted += int(json.loads(answer.stdout)["result"]["rows"][0][0])
    assert counted == int(year[2])
