"""Commands that tests fork are as those that people start."""

from pathlib import Path

import pytest

from tests.support import preloaded
from tests.support.each import each
from tests.support.serving import loci


@each("arguments", [("--version",), ("keys", "revoke", "nope"), ("fly",)])
def test_a_forked_command_is_as_a_started_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    forked = loci(Path("data"), *arguments)
    with monkeypatch.context() as patch:
        patch.setattr(preloaded, "is_used", False)
        started = loci(Path("data"), *arguments)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)
