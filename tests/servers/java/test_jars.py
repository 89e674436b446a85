"""The jars are brought once, and are what the lists say."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers.errors import NotInstalled, NotStarted
from tests.servers.java.jars import assembled, check, listing, maven
from tests.servers.reporting import only_with

pytestmark = pytest.mark.aws

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = (
    "import pathlib, sys; from tests.servers.java.jars import assembled\n"
    "print(assembled('dynamodb', pathlib.Path(sys.argv[1])))"
)
CHANGES: dict[str, Callable[[Path], object]] = {
    "other contents": lambda jar: jar.write_text("another", "ascii"),
    "one missing": Path.unlink,
    "one more": lambda jar: shutil.copy(jar, jar.with_name("two.jar.old")),
}


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    for name in ("one.jar", "two.jar"):
        (tmp_path / name).write_text(name, "ascii")
    return tmp_path


def test_of_two_that_ask_at_once_one_brings_the_jars(tmp_path: Path) -> None:
    with only_with("DynamoDB Local", "Install that."):
        maven()
    command = [sys.executable, "-c", PROGRAM, tmp_path]
    both = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    ends = [process.communicate() for process in both]
    [folder] = {printed for printed, _ in ends}
    assert list(Path(folder.strip()).glob("DynamoDBLocal-*.jar"))
    assert [said.count("Maven brings") for _, said in ends].count(1) == 1


def test_a_machine_without_maven_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotInstalled, match="apt install maven"):
        assembled("dynamodb", tmp_path)


def test_jars_that_are_listed_are_taken(jars: Path) -> None:
    check(jars, listing(jars))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_jar_that_is_not_as_listed_is_named(jars: Path, change: Callable[[Path], object]) -> None:
    wanted = listing(jars)
    change(jars / "two.jar")
    with pytest.raises(NotStarted, match=r"two\.jar"):
        check(jars, wanted)
