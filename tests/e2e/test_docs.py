"""The documentation is true."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.docs import COMMANDS, DOCS, PAGES
from tests.support.docs_parts import PARTS, renewed
from tests.support.each import each

ROOT = DOCS.parent


@pytest.mark.parametrize("name", PAGES)
def test_a_page_made_from_the_program_is_up_to_date(name: str) -> None:
    """Renew it: python -m tests.support.docs."""
    assert (DOCS / name).read_text("utf-8") == PAGES[name]()


@each("name", PARTS)
def test_a_part_made_from_data_is_up_to_date(name: str) -> None:
    """Renew it: python -m tests.support.docs."""
    assert (DOCS / name).read_text("utf-8") == renewed(DOCS / name)


@each("page", [ROOT / "README.md", *DOCS.glob("*.md"), *(ROOT / ".github").glob("*.md")])
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def section(title: str) -> str:
    return (DOCS / "glossary.md").read_text("utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_the_glossary_names_every_folder_of_the_package() -> None:
    named = re.findall(r"^\| `([\w/]+)` \|", section("Folders"), re.MULTILINE)
    assert [folder for folder in named if not (ROOT / folder).is_dir()] == []
    packages = {f"shared/loci/{one.parent.name}" for one in (ROOT / "shared" / "loci").glob("*/__init__.py")}
    assert packages - set(named) == set()


def test_the_classes_in_the_glossary_exist() -> None:
    source = "\n".join(file.read_text("utf-8") for file in (ROOT / "shared" / "loci").rglob("*.py"))
    classes = set(re.findall(r"^class (\w+)", source, re.MULTILINE))
    assert set(re.findall(r"`([A-Z]\w+)`", section("Classes"))) <= classes


def written(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def test_the_commands_of_the_installation_exist() -> None:
    page = written("install.md")
    commands = re.findall(r"(?:^\$ |`)loci ([a-z]+(?: [a-z]+)?)", page, re.MULTILINE)
    assert {"serve", "doctor", "runner install", "tools import", "tools add", "keys create"} <= {*commands}
    known = {one for command in COMMANDS for one in (command, command.partition(" ")[0])}
    assert {one.partition(" ")[0] for one in commands} <= known
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert {*re.findall(r"^\$ make ([a-z-]+)", page, re.MULTILINE)} <= {*targets}


def test_the_installation_says_what_the_readme_says() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for line in re.findall(r"^\$ (pip .*|loci .*|make .*)$", written("install.md"), re.MULTILINE):
        assert line in readme, line
    for entry in re.findall(r'`(\{"mcpServers".*\})`', written("install.md")):
        assert entry in readme, entry


def listed_tools() -> list[dict[str, Any]]:
    return json.loads((ROOT / "tests/surface/tools.json").read_text("utf-8"))


def test_the_readme_has_every_tool_with_arguments_that_it_takes() -> None:
    rows = re.findall(r"^\| `(\w+)\((.*?)\)` \|", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    takes = {one["name"]: {*one["inputSchema"]["properties"]} for one in listed_tools()}
    assert sorted(name for name, _ in rows) == sorted(takes)
    for name, arguments in rows:
        assert {*re.findall(r"\w+", arguments)} <= takes[name], name


def test_the_tools_that_the_concepts_name_exist() -> None:
    page = written("concepts.md")
    named = {*re.findall(r"`([a-z]+_[a-z_]+)[(`]", page)}
    listed = listed_tools()
    assert len(named) >= 6
    assert named <= {one["name"] for one in listed}
    for word in ("documents", "files", "tools", "workflows", "typescript", "code", "security", "glossary"):
        assert f"]({word}.md)" in page
