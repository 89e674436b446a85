"""The runner's packages are installed whole, or the earlier ones stay."""

from pathlib import Path

import pytest

from loci.adapters.local.executors.executor_starter import runner_python
from loci.code import packages
from loci.code.api import Code
from loci.core.errors import Unavailable
from tests.support.polling import until
from tests.support.serving import call, post, serving


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


@pytest.mark.usefixtures("lock")
def test_nobody_installs_or_runs_what_another_process_is_installing(tmp_path: Path) -> None:
    told: list[bool] = []

    def look(_: str) -> None:
        told.append(packages.is_being_installed(tmp_path / "runner"))
        with pytest.raises(Unavailable, match="just being installed"):
            packages.install(tmp_path / "runner", said)
        with pytest.raises(Unavailable, match="still being installed"):
            runner_python(tmp_path / "runner")

    packages.install(tmp_path / "runner", look)
    assert told == [True, True]
    assert not packages.is_being_installed(tmp_path / "runner")
    assert runner_python(tmp_path / "runner").exists()


def test_a_server_serves_while_it_cannot_install_them_and_says_how_to_repeat_it(tmp_path: Path) -> None:
    runner = str(tmp_path / "runner")
    with serving(tmp_path / "data", "--install-runner", LOCI_RUNNER=runner, PIP_NO_INDEX="1") as server:
        until(lambda: "repeat it: loci runner install" in (tmp_path / "stderr.txt").read_text())
        answer = post(f"{server.url}/mcp", call("run_memory_code", {"code": "1"})).message()
        assert "SANDBOX_UNAVAILABLE" in answer["result"]["content"][0]["text"]
    assert packages.state(tmp_path / "runner") == "absent"


def test_each_package_of_the_lock_has_its_hashes() -> None:
    text = packages.LOCKS[-1].read_text()
    for one in ("pandas", "numpy", "openpyxl", "xlrd", "scipy", "scikit-learn", "xgboost-cpu", "matplotlib"):
        assert f"\n{one}==" in f"\n{text}"
    assert text.count("--hash=sha256:") > text.count("==")
