"""The checklist of RFC 9700 in docs/security.md: whole, and each test that it names is there."""

import re

from tests.support.docs import DOCS

ROOT = DOCS.parent
HERE = ROOT / "tests/attack/oauth"
ATTACKS = {f"4.{number}" for number in range(1, 18)}


def rows() -> list[list[str]]:
    """What each row says: the section, what Loci does, and the tests."""
    part = (DOCS / "security.md").read_text("utf-8").partition("## RFC 9700, point by point")[2].partition("\n## ")[0]
    found = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
    return [row for row in found if row[0] != "section" and not row[0].startswith("---")]


def test_it_has_every_attack_of_the_document() -> None:
    assert {one for row in rows() for one in re.findall(r"\b\d\.\d+", row[0])} >= ATTACKS


def test_every_row_names_tests_and_each_is_there() -> None:
    written = "\n".join(one.read_text("utf-8") for one in HERE.glob("test_*.py"))
    for row in rows():
        assert len(row) == 3, row
        named = re.findall(r"`([^`]+)`", row[2])
        assert named, row
        for name in named:
            assert (ROOT / name).is_file() if "/" in name else f"def test_{name}(" in written, (row[0], name)
