"""The documentation says what is true."""

import re
from pathlib import Path

import pytest

from tests.support.docs import DOCS, PAGES

ROOT = DOCS.parent


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_the_program_knows_is_up_to_date(name: str) -> None:
    """Renew it: python -m tests.support.docs."""
    assert (DOCS / name).read_text("utf-8") == PAGES[name]()


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS.glob("*.md"), *(ROOT / ".github").glob("*.md")])
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target
