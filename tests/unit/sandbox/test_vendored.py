"""Files that others wrote are what their table says."""

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("where", ["shared/loci/sandbox/vendored", "release/vendored"])
def test_every_file_has_its_sum_and_its_licence(where: str) -> None:
    folder = ROOT / where
    told = dict(re.findall(r"^\| `([^`]+)` \|.*`([0-9a-f]{64})` \|$", (folder / "README.md").read_text(), re.MULTILINE))
    files = {one.name for one in folder.iterdir()} - {"README.md", "LICENSE"}
    assert files == set(told)
    for name, digest in told.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert "MIT" in (folder / "LICENSE").read_text()
