"""Files that others wrote are what their table says."""

import hashlib
import re
from pathlib import Path

import loci.sandbox

FOLDER = Path(loci.sandbox.__file__ or "").parent / "vendored"


def test_every_file_has_its_sum_and_its_licence() -> None:
    told = dict(re.findall(r"^\| `([^`]+)` \|.*`([0-9a-f]{64})` \|$", (FOLDER / "README.md").read_text(), re.MULTILINE))
    files = {one.name for one in FOLDER.iterdir()} - {"README.md", "LICENSE"}
    assert files == set(told)
    for name, digest in told.items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest
    assert "MIT" in (FOLDER / "LICENSE").read_text()
