"""`make rollback`: an earlier version is deployed again, from its own sources and with the settings of today."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.circles import ROOT

pytestmark = pytest.mark.smoke
DEPLOY = """
deploy:
\tcp cdk.json version $(CURDIR)/../../deployed
\techo $(STAGE) > $(CURDIR)/../../deployed/stage
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with two versions. A deployment of the first only notes what it was given."""
    (tmp_path / "deployed").mkdir()
    (tmp_path / "Makefile").write_text(DEPLOY)
    told(tmp_path, "git", "init", "--quiet")
    for version in ("v1", "v2"):
        (tmp_path / "version").write_text(version)
        (tmp_path / "cdk.json").write_text(f"settings of {version}")
        told(tmp_path, "git", "add", "Makefile", "version", "cdk.json")
        told(tmp_path, "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", version)
        told(tmp_path, "git", "tag", version)
        shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "cdk.json").write_text("settings of today")
    return tmp_path


def told(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "MAKE"))}
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)


def test_the_earlier_version_is_deployed_with_the_settings_of_today_and_again(clone: Path) -> None:
    for _ in range(2):
        done = told(clone, "make", "rollback", "TO=v1", "STAGE=prod")
        assert done.returncode == 0, done.stderr
        found = {one.name: one.read_text().strip() for one in (clone / "deployed").iterdir()}
        assert found == {"version": "v1", "cdk.json": "settings of today", "stage": "prod"}
    assert told(clone, "git", "status", "--porcelain", "version").stdout == ""


def test_a_version_that_does_not_exist_deploys_nothing(clone: Path) -> None:
    done = told(clone, "make", "rollback", "TO=v9")
    assert (done.returncode != 0, "v9" in done.stderr, [*(clone / "deployed").iterdir()]) == (True, True, [])


def test_without_a_version_it_says_how_to_name_one(clone: Path) -> None:
    done = told(clone, "make", "rollback")
    assert (done.returncode != 0, "TO=v1.2.0" in done.stdout) == (True, True)
