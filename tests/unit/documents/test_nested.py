"""A folder that was ingested by itself and lies in another: ingesting the other keeps it while it is away."""

import shutil
from pathlib import Path

import pytest

from loci.core.identity import LOCAL
from loci.documents.ingest.local_files import local_path
from loci.documents.ingest.outcome import MissingFolder
from loci.documents.ingest.watched_folder import FolderIngested, WatchedFolder

from .conftest import Desk


@pytest.fixture
def inner(desk: Desk) -> Path:
    """A folder in the notes with two documents, ingested before the notes."""
    folder = desk.write("inner/b.md", "raspberry").parent
    desk.write("inner/c.md", "raspberry")
    desk.write("a.md", "strawberry")
    desk.run(folder)
    desk.run()
    return folder


@pytest.fixture(params=["away", "empty"])
def away(request: pytest.FixtureRequest, inner: Path, tmp_path: Path) -> Path:
    """The place it was moved to: nothing of it is where it was."""
    inner.rename(tmp_path / "elsewhere")
    if request.param == "empty":  # where a disk was mounted
        inner.mkdir()
    return tmp_path / "elsewhere"


@pytest.mark.usefixtures("away")
def test_while_it_is_away_its_documents_are_kept_and_that_is_told(desk: Desk, inner: Path) -> None:
    for _ in range(2):
        summary = desk.run()
        assert (summary.removed, summary.kept) == (0, (MissingFolder(str(inner), 2),))
        assert desk.ids() == {"inner-b", "inner-c", "notes-a"}


@pytest.mark.usefixtures("away")
def test_what_else_is_gone_of_the_outer_one_is_taken_out(desk: Desk) -> None:
    desk.write("d.md", "blueberry")
    desk.run()
    (desk.notes / "a.md").unlink()
    assert desk.run().removed == 1
    assert desk.ids() == {"inner-b", "inner-c", "notes-d"}


def test_when_it_is_back_what_is_gone_of_it_is_taken_out(desk: Desk, inner: Path, away: Path) -> None:
    desk.run()
    if inner.exists():
        inner.rmdir()
    away.rename(inner)
    (inner / "b.md").unlink()
    summary = desk.run()
    assert (summary.removed, summary.kept) == (1, ())
    assert desk.ids() == {"inner-c", "notes-a"}


def test_a_part_of_it_that_is_gone_is_taken_out(desk: Desk, inner: Path) -> None:
    (inner / "b.md").unlink()
    assert desk.run().removed == 1


@pytest.mark.usefixtures("away")
def test_one_in_one_is_told_once(desk: Desk, inner: Path) -> None:
    inner.mkdir(exist_ok=True)
    desk.run(desk.write("inner/deep/e.md", "gooseberry").parent)
    shutil.rmtree(inner)
    assert desk.run().kept == (MissingFolder(str(inner), 3),)


def test_of_two_that_are_named_the_empty_one_is_kept(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.md").write_text("gooseberry")
    desk.write("a.md", "strawberry")
    desk.run(desk.notes, other)
    (other / "x.md").unlink()
    summary = desk.run(desk.notes, other)
    assert (summary.removed, summary.kept) == (0, (MissingFolder(str(other), 1),))


def test_one_that_goes_while_only_the_outer_one_is_followed_is_kept(desk: Desk, inner: Path) -> None:
    one = WatchedFolder(desk.ingest, LOCAL, local_path(str(desk.notes)), [], lambda: 4_000_000_000.0)
    one.ingest_all()
    inner.rename(desk.notes.parent / "elsewhere")
    event = one.check([str(inner)])
    assert isinstance(event, FolderIngested)
    assert (event.summary.removed, event.summary.kept) == (0, (MissingFolder(str(inner), 2),))
    assert desk.ids() == {"inner-b", "inner-c", "notes-a"}
