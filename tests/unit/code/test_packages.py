"""The runner's packages are installed whole, or the earlier ones stay."""

from pathlib import Path

import pytest

from loci.code import packages
from loci.code.api import Code
from loci.core.errors import Unavailable


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty lock: the environment made from it has no packages and needs no network."""
    lock = tmp_path / "runner.lock"
    lock.write_text("")
    monkeypatch.setattr(packages, "LOCKS", (lock,))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return lock


def said(_: str) -> None:
    """Nobody listens."""


@pytest.mark.usefixtures("lock")
def test_where_nothing_was_installed_nothing_is_there(tmp_path: Path) -> None:
    assert packages.state(tmp_path / "runner") == "absent"


def test_what_is_brought_is_there_until_the_lock_changes_and_what_a_crash_left_is_removed(
    tmp_path: Path, lock: Path
) -> None:
    (tmp_path / ".runner-0123").mkdir()
    assert [Code.install_packages(tmp_path / "runner", said) for _ in range(2)] == [True, False]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["runner", lock.name]
    assert packages.state(tmp_path / "runner") == "ready"
    lock.write_text("# another")
    assert packages.state(tmp_path / "runner") == "outdated"


def test_what_could_not_be_brought_leaves_what_was_there(tmp_path: Path, lock: Path) -> None:
    (tmp_path / "runner" / "bin").mkdir(parents=True)
    (tmp_path / "runner" / "bin" / "python").write_text("old")
    lock.write_text(f"no-such-package==1 --hash=sha256:{'0' * 64}")
    with pytest.raises(Unavailable, match="no-such-package"):
        packages.install(tmp_path / "runner", said)
    assert (tmp_path / "runner" / "bin" / "python").read_text() == "old"


def test_each_package_of_the_lock_has_its_hashes() -> None:
    text = packages.LOCKS[-1].read_text()
    for one in ("pandas", "numpy", "openpyxl", "xlrd", "scipy", "scikit-learn", "xgboost-cpu", "matplotlib"):
        assert f"\n{one}==" in f"\n{text}"
    assert text.count("--hash=sha256:") > text.count("==")
