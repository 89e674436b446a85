"""Reading a file that hostile code may have put anything in place of."""

import os
from pathlib import Path

import pytest

from loci.sandbox.supervisor.executor_files import NoSuchFileError, read_file
from tests.support.each import each


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work folder in which code has left plain files, and traps."""
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "work"
    (folder / "inner").mkdir(parents=True)
    (folder / "plain.txt").write_text("plain")
    (folder / "inner" / "deep.txt").write_text("deep")
    (folder / "link").symlink_to("../secret.txt")
    (folder / "inside").symlink_to("plain.txt")
    (folder / "folder").symlink_to("..")
    os.mkfifo(folder / "pipe")
    return folder


def test_plain_files_are_read(work: Path) -> None:
    assert (read_file(work, "plain.txt", 5), read_file(work, "inner/deep.txt", 5)) == (b"plain", b"deep")


@each(
    "name",
    [
        *("link", "inside", "folder/secret.txt", "pipe", "inner", "", ".", "..", "../secret.txt", "inner/../plain.txt"),
        *("/etc/passwd", "inner//deep.txt", "none", "none/none", "plain.txt/x", "a\0b", "x" * 300, "a/" * 100 + "b"),
    ],
)
def test_nothing_else_is_read(work: Path, name: str) -> None:
    with pytest.raises(NoSuchFileError):
        read_file(work, name, 100)


def test_a_larger_file_is_not_read(work: Path) -> None:
    with pytest.raises(NoSuchFileError, match="it has 5 bytes; the most is 4"):
        read_file(work, "plain.txt", 4)


def test_a_work_folder_that_is_a_link_is_not_followed(work: Path) -> None:
    (work.parent / "other").symlink_to(work)
    with pytest.raises(NoSuchFileError):
        read_file(work.parent / "other", "plain.txt", 100)
