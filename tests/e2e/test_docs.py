"""The documentation is true."""

import re
from pathlib import Path

import pytest

from tests.support.docs import DOCS, PAGES

ROOT = DOCS.parent


@pytest.mark.parametrize("name", PAGES)
def test_a_page_made_from_the_program_is_up_to_date(name: str) -> None:
    """Renew it: python -m tests.support.docs."""
    assert (DOCS / name).read_text("utf-8") == PAGES[name]()


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS.glob("*.md"), *(ROOT / ".github").glob("*.md")])
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
