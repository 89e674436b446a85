"""Files are written only where they belong, and only over the text that was read."""

from pathlib import Path

import pytest

from loci.authoring.stored_text import FileText
from loci.core.errors import Conflict, Refused
from loci.documents.document import Root


def file_text(folder: Path, path: str) -> FileText:
    return FileText(Root("id", "notes", str(folder)), f"notes/{path}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.md").write_text("old")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in (folder / "sub").iterdir())


def test_a_file_is_replaced_and_nothing_is_left_beside_it(folder: Path) -> None:
    file_text(folder, "sub/a.md").write(b"new", b"old")
    assert (folder / "sub" / "a.md").read_text() == "new"
    assert names(folder) == ["a.md"]


def test_a_file_is_made_with_the_folders_above_it(folder: Path) -> None:
    file_text(folder, "deep/below/b.md").write(b"new", None)
    assert (folder / "deep" / "below" / "b.md").read_text() == "new"


@pytest.mark.parametrize("before", [None, b"older"])
def test_what_somebody_else_wrote_is_not_replaced(folder: Path, before: bytes | None) -> None:
    with pytest.raises(Conflict):
        file_text(folder, "sub/a.md").write(b"new", before)
    with pytest.raises(Conflict):
        file_text(folder, "sub/a.md").remove(b"older")
    assert (folder / "sub" / "a.md").read_text() == "old"
    assert names(folder) == ["a.md"]


def test_what_somebody_took_away_is_not_made_again(folder: Path) -> None:
    with pytest.raises(Conflict):
        file_text(folder, "sub/b.md").write(b"new", b"old")
    assert names(folder) == ["a.md"]


def test_a_file_is_removed(folder: Path) -> None:
    file_text(folder, "sub/a.md").remove(b"old")
    assert names(folder) == []


@pytest.mark.parametrize("path", ["link/a.md", "link.md"])
def test_a_link_that_was_put_there_meanwhile_is_not_followed(folder: Path, path: str) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("old")
    (folder / "link").symlink_to(outside)
    (folder / "link.md").symlink_to(outside / "a.md")
    with pytest.raises(Refused):
        file_text(folder, path).write(b"new", b"old")
    with pytest.raises(Refused):
        file_text(folder, path).remove(b"old")
    assert (outside / "a.md").read_text() == "old"
    assert [one.name for one in outside.iterdir()] == ["a.md"]


def test_a_folder_that_is_gone_is_told(folder: Path) -> None:
    with pytest.raises(Refused) as refusal:
        file_text(folder.with_name("gone"), "a.md").write(b"new", None)
    assert refusal.value.code == "FILE_UNWRITABLE"
