"""The page about files is true: its commands run as they are written, and the tools it names take those arguments."""

import json
import re
import shlex
import subprocess
from pathlib import Path

from tests.support.docs import DOCS
from tests.support.executors import runner_packages
from tests.support.files.papers import drawn, line
from tests.support.files.workbooks import xlsx
from tests.support.serving import LOCI, clean_environment

PAGE = (DOCS / "files.md").read_text("utf-8")
TOOLS = Path("tests/surface/tools.json")


def test_its_commands_run_one_after_the_other(tmp_path: Path) -> None:
    runner_packages()
    (tmp_path / "costs").mkdir()
    (tmp_path / "costs" / "costs.xlsx").write_bytes(xlsx(("May", [("Travel", "Costs"), ("Train", 40)])))
    (tmp_path / "report.pdf").write_bytes(drawn(line("Travel costs were low in May.")))
    commands = [shlex.split(one, comments=True) for one in re.findall(r"^\$ loci (.*)$", PAGE, re.MULTILINE)]
    assert len(commands) >= 4
    for command in commands:
        ended = subprocess.run(
            [*LOCI, *command],
            cwd=tmp_path,
            env=clean_environment(tmp_path / "data"),
            input="y\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, (command, ended.stdout, ended.stderr)


def test_the_tools_that_it_names_take_those_arguments() -> None:
    tools = {one["name"]: one["inputSchema"]["properties"] for one in json.loads(TOOLS.read_text("utf-8"))}
    named = re.findall(r"`([a-z]+_[a-z_]+)\(([a-z_, \n]*)\)`", PAGE)
    assert len(named) >= 5
    for tool, arguments in named:
        assert {one.strip() for one in arguments.split(",")} - {""} <= tools[tool].keys(), tool
