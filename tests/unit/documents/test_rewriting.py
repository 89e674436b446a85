"""Files, written: only where they belong, and only over what they were."""

from pathlib import Path

import pytest

from loci.core.errors import Conflict, Refused
from loci.documents.writing.write_file import remove_file, write_file

SCRATCH = ".loci-1.tmp"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.md").write_text("old")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in (folder / "sub").iterdir())


def test_a_file_is_replaced_and_nothing_is_left_beside_it(folder: Path) -> None:
    write_file(str(folder), "sub/a.md", b"new", b"old", SCRATCH)
    assert (folder / "sub" / "a.md").read_text() == "new"
    assert names(folder) == ["a.md"]


def test_a_file_is_made_with_the_folders_above_it(folder: Path) -> None:
    write_file(str(folder), "deep/below/b.md", b"new", None, SCRATCH)
    assert (folder / "deep" / "below" / "b.md").read_text() == "new"


@pytest.mark.parametrize("before", [None, b"older"])
def test_what_somebody_else_wrote_is_not_replaced(folder: Path, before: bytes | None) -> None:
    with pytest.raises(Conflict):
        write_file(str(folder), "sub/a.md", b"new", before, SCRATCH)
    with pytest.raises(Conflict):
        remove_file(str(folder), "sub/a.md", b"older")
    assert (folder / "sub" / "a.md").read_text() == "old"
    assert names(folder) == ["a.md"]


def test_what_somebody_took_away_is_not_made_again(folder: Path) -> None:
    with pytest.raises(Conflict):
        write_file(str(folder), "sub/b.md", b"new", b"old", SCRATCH)
    assert names(folder) == ["a.md"]


def test_a_file_is_removed(folder: Path) -> None:
    remove_file(str(folder), "sub/a.md", b"old")
    assert names(folder) == []


@pytest.mark.parametrize("path", ["link/a.md", "link.md"])
def test_a_link_that_was_put_there_meanwhile_is_not_followed(folder: Path, path: str) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("old")
    (folder / "link").symlink_to(outside)
    (folder / "link.md").symlink_to(outside / "a.md")
    with pytest.raises(Refused):
        write_file(str(folder), path, b"new", b"old", SCRATCH)
    with pytest.raises(Refused):
        remove_file(str(folder), path, b"old")
    assert (outside / "a.md").read_text() == "old"
    assert [one.name for one in outside.iterdir()] == ["a.md"]


def test_a_folder_that_is_gone_is_told(folder: Path) -> None:
    with pytest.raises(Refused) as refusal:
        write_file(f"{folder}-gone", "a.md", b"new", None, SCRATCH)
    assert refusal.value.code == "FILE_UNWRITABLE"
