"""The documentation is true."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from loci.cli.main import COMMANDS as LISTED
from tests.support.docs import COMMANDS, DOCS, PAGES, SITE
from tests.support.docs_parts import PARTS, renewed
from tests.support.each import each

ROOT = DOCS.parent
REPOSITORY = "https://github.com/loci-mcp/loci/blob/main/"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_made_from_the_program_is_up_to_date(name: str) -> None:
    """Renew it: python -m tests.support.docs."""
    assert (DOCS / name).read_text("utf-8") == PAGES[name]()


@each("name", PARTS)
def test_a_part_made_from_data_is_up_to_date(name: str) -> None:
    """Renew it: python -m tests.support.docs."""
    assert (DOCS / name).read_text("utf-8") == renewed(DOCS / name)


@each("page", [ROOT / "README.md", *DOCS.glob("*.md"), *(ROOT / ".github").glob("*.md"), ROOT / "examples/README.md"])
def test_every_link_leads_somewhere(page: Path) -> None:
    """On the site, what lies outside its folder is reached by its address in the repository."""
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if target.startswith(REPOSITORY):
            assert (ROOT / target.removeprefix(REPOSITORY)).exists(), target
        else:
            assert target.startswith("https://") or (page.parent / target).exists(), target
            assert page.parent != DOCS or not target.startswith(".."), f"{target} is not on the site: {REPOSITORY}"


def test_the_site_leads_to_every_page() -> None:
    led = re.findall(r'"([\w-]+\.md)"', SITE.read_text("utf-8"))
    assert sorted(led) == sorted(one.name for one in DOCS.glob("*.md"))


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
    assert {"serve", "doctor", "runner install", "service install", "keys create"} <= {*commands}
    assert {one.partition(" ")[0] for one in COMMANDS} == {"", *LISTED}
    known = {one for command in COMMANDS for one in (command, command.partition(" ")[0])}
    assert {one.partition(" ")[0] for one in commands} <= known
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert {*re.findall(r"^\$ make ([a-z-]+)", page, re.MULTILINE)} <= {*targets}


def listed_tools() -> list[dict[str, Any]]:
    return json.loads((ROOT / "tests/surface/tools.json").read_text("utf-8"))


def test_the_tools_that_the_concepts_name_exist() -> None:
    page = written("concepts.md")
    named = {*re.findall(r"`([a-z]+_[a-z_]+)[(`]", page)}
    listed = listed_tools()
    assert len(named) >= 6
    assert named <= {one["name"] for one in listed}
    for word in ("documents", "files", "tools", "workflows", "typescript", "code", "security", "glossary"):
        assert f"]({word}.md)" in page
