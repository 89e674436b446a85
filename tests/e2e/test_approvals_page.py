"""The page about approvals is true: its command prints that, its options exist, and its tool takes those arguments."""

import json
import re
import shlex
from pathlib import Path

from loci.web.page import PLACES
from tests.e2e.in_process import loci
from tests.support.docs import DOCS

PAGE = (DOCS / "approvals.md").read_text("utf-8")
TOOLS = Path("tests/surface/tools.json")


def test_its_command_prints_what_it_says(tmp_path: Path) -> None:
    [(command, said)] = re.findall(r"^\$ loci (.*)\n((?:(?!```).*\n)*)", PAGE, re.MULTILINE)
    ended = loci(tmp_path / "data", *shlex.split(command))
    assert (ended.returncode, ended.stdout) == (0, said)


def test_the_options_that_it_names_exist() -> None:
    reference = (DOCS / "command-line.md").read_text("utf-8")
    named = re.findall(r"`loci ([a-z ]+?)(?: [A-Z…].*?)? (--[a-z]+)", PAGE)
    assert len(named) >= 2
    for command, option in named:
        part = reference.partition(f"## loci {command}\n")[2].partition("\n## ")[0]
        assert option in part, (command, option)


def test_the_tool_that_it_names_takes_those_arguments() -> None:
    tools = {one["name"]: one["inputSchema"]["properties"] for one in json.loads(TOOLS.read_text("utf-8"))}
    [(tool, arguments)] = re.findall(r"`(pml_[a-z_]+)\(([a-z_,\s]*)\)`", PAGE)
    assert {one.strip() for one in arguments.split(",")} <= tools[tool].keys()


def test_the_page_about_pages_names_every_place_of_the_bar() -> None:
    rows = re.findall(r"^\| (\w+), `/ui/(\w+)` \|", (DOCS / "pages.md").read_text("utf-8"), re.MULTILINE)
    assert {name: title for title, name in rows} == PLACES
