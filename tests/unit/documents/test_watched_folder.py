"""A watched folder: how each check changes the library."""

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from loci.core.errors import Unavailable
from loci.core.identity import LOCAL
from loci.documents.ingest.folder_ingest import IngestedFolders
from loci.documents.ingest.local_files import local_path
from loci.documents.ingest.outcome import IngestSummary
from loci.documents.ingest.watched_folder import (
    FolderEvent,
    FolderIngested,
    FolderUnavailable,
    IngestPostponed,
    WatchedFolder,
)
from tests.support.bound import bound_by_modes

from .conftest import Desk

LATER = 4_000_000_000.0  # 2096: nothing was written just now


def watched(
    desk: Desk, folder: Path | None = None, excluded: Collection[str] = (), now: float = LATER
) -> WatchedFolder:
    return WatchedFolder(desk.ingest, LOCAL, local_path(str(folder or desk.notes)), excluded, lambda: now)


def checked(one: WatchedFolder, *touched: Path) -> list[FolderEvent]:
    event = one.check([str(path) for path in touched])
    return [event] if event else []


def ingested(one: WatchedFolder, *touched: Path) -> IngestSummary:
    [event] = checked(one, *touched)
    assert isinstance(event, FolderIngested)
    return event.summary


@pytest.fixture
def two(desk: Desk) -> WatchedFolder:
    """A watched folder with two notes."""
    desk.write("a.md", "strawberry")
    desk.write("sub/b.md", "raspberry")
    one = watched(desk)
    assert isinstance(one.ingest_all(), FolderIngested)
    return one


def test_only_what_was_touched_is_looked_at(desk: Desk, two: WatchedFolder) -> None:
    touched = desk.write("a.md", "blueberry")
    desk.write("sub/b.md", "blueberry")
    summary = ingested(two, touched)
    assert (summary.seen, desk.found("blueberry")) == (1, {"notes-a"})


def test_a_touched_file_that_is_as_it_was_is_not_written_again(desk: Desk, two: WatchedFolder) -> None:
    summary = ingested(two, desk.notes / "a.md")
    assert (summary.processed, summary.unchanged) == (0, 1)


def test_a_sweep_sees_what_nobody_told(desk: Desk, two: WatchedFolder) -> None:
    desk.write("sub/b.md", "blueberry, and more")
    (desk.notes / "a.md").unlink()
    summary = ingested(two, desk.notes)
    assert (summary.processed, summary.removed, desk.ids()) == (1, 1, {"notes-sub-b"})
    assert checked(two, desk.notes) == []


def test_at_a_start_only_files_with_another_stamp_are_read(desk: Desk, two: WatchedFolder) -> None:
    note = desk.write("a.md", "blueberry")
    entry, seen = desk.catalog.find(LOCAL, "notes/a.md"), note.stat()
    assert entry.document
    assert entry.document.stamp
    stamp = (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
    desk.catalog.put(LOCAL, replace(entry.document, stamp=stamp), entry.version)
    assert isinstance(watched(desk).ingest_all(), FolderIngested)
    assert desk.found("blueberry") == set()
    note.touch()
    assert isinstance(watched(desk).ingest_all(), FolderIngested)
    assert desk.found("blueberry") == {"notes-a"}


def test_a_touched_file_with_its_text_is_read_only_once(desk: Desk, two: WatchedFolder) -> None:
    note = desk.notes / "a.md"
    note.touch()
    assert isinstance(watched(desk).ingest_all(), FolderIngested)
    stamp = desk.document("notes-a").stamp
    assert stamp
    assert stamp[2] == note.stat().st_mtime_ns


def test_what_its_owner_wanted_forgotten_stays_forgotten_when_the_folder_is_ingested(
    desk: Desk, two: WatchedFolder
) -> None:
    forgotten = [desk.document("notes-a")]
    IngestedFolders(desk.catalog).forget(LOCAL, forgotten)
    desk.library.remove(LOCAL, forgotten)
    assert isinstance(two.ingest_all(), FolderIngested)
    assert desk.ids() == {"notes-sub-b"}


def test_what_was_written_just_now_is_looked_at_once_more(desk: Desk) -> None:
    note = desk.write("a.md", "strawberry")
    now = note.stat().st_mtime
    one = watched(desk, now=now)
    one.ingest_all()
    note.write_text("blackberry")  # as long as it was, and perhaps in the same tick of the clock
    os.utime(note, (now, now))
    assert ingested(one, desk.notes).processed == 1


def test_a_folder_that_is_gone_takes_its_documents_along(desk: Desk, two: WatchedFolder) -> None:
    (desk.notes / "sub" / "b.md").unlink()
    (desk.notes / "sub").rmdir()
    assert ingested(two, desk.notes / "sub").removed == 1


def test_a_moved_document_keeps_its_embeddings_and_what_it_was_called(modelled: Desk) -> None:
    modelled.write("a.md", "# Title\n\ntext")
    modelled.write("b.md", "# Other\n\nwords")
    one = watched(modelled)
    one.ingest_all()
    (modelled.notes / "a.md").rename(modelled.notes / "c.md")
    summary = ingested(one, modelled.notes / "a.md", modelled.notes / "c.md")
    assert (summary.processed, summary.removed, summary.embedded) == (1, 1, 0)
    assert modelled.document("notes-c").former == ("notes/a.md",)  # links that name it mean it


def test_a_link_in_the_place_of_a_file_is_no_document(desk: Desk, two: WatchedFolder) -> None:
    (desk.notes / "a.md").unlink()
    (desk.notes / "a.md").symlink_to(desk.notes / "sub" / "b.md")
    assert ingested(two, desk.notes / "a.md").removed == 1


def test_what_is_reached_through_a_link_is_not_taken(desk: Desk, two: WatchedFolder) -> None:
    (desk.notes / "linked").symlink_to(desk.notes / "sub")
    assert checked(two, desk.notes / "linked" / "b.md", desk.notes / "linked") == []


def test_hidden_and_foreign_files_are_nobodys_business(desk: Desk, two: WatchedFolder) -> None:
    hidden, foreign = desk.write(".git/a.md", "text"), desk.write("a.py", "text")
    assert checked(two, hidden, foreign, desk.notes / ".git", desk.notes.parent / "elsewhere.md") == []


def test_a_name_that_is_not_utf8_is_told_and_removed_without_harm(desk: Desk, two: WatchedFolder) -> None:
    odd = Path(os.fsdecode(os.fsencode(desk.notes) + b"/\xff.md"))
    odd.write_text("text")
    assert "UTF-8" in ingested(two, odd).failed[0].reason
    odd.unlink()
    assert ingested(two, odd).removed == 0


def test_two_paths_of_one_id_get_two(desk: Desk, two: WatchedFolder) -> None:
    ingested(two, desk.write("x-y.md", "one"), desk.write("x y.md", "two"))
    assert len(desk.ids()) == 4


def test_while_the_folder_is_away_everything_is_kept(desk: Desk, two: WatchedFolder) -> None:
    desk.notes.rename(desk.notes.parent / "away")
    assert checked(two, desk.notes / "a.md") == [FolderUnavailable(is_empty=False)]
    assert checked(two, desk.notes) == []
    assert len(desk.ids()) == 2
    (desk.notes.parent / "away" / "a.md").unlink()
    (desk.notes.parent / "away").rename(desk.notes)
    assert ingested(two).removed == 1


def test_of_an_emptied_folder_everything_is_kept_until_something_is_there(desk: Desk, two: WatchedFolder) -> None:
    (desk.notes / "sub").rename(desk.notes.parent / "sub")
    (desk.notes / "a.md").unlink()
    assert checked(two, desk.notes) == [FolderUnavailable(is_empty=True)]
    assert checked(two, desk.notes) == []
    assert len(desk.ids()) == 2
    desk.write("c.md", "blueberry")
    ingested(two)
    assert desk.ids() == {"notes-c"}


def test_of_a_folder_that_cannot_be_read_everything_is_kept(desk: Desk, two: WatchedFolder) -> None:
    (desk.notes / "sub").chmod(0)
    with bound_by_modes():
        with pytest.raises(PermissionError):
            list((desk.notes / "sub").iterdir())
        assert checked(two, desk.notes) == []
    (desk.notes / "sub").chmod(0o755)
    assert len(desk.ids()) == 2


def test_a_folder_in_it_that_is_followed_by_itself_is_left_to_that(desk: Desk) -> None:
    desk.write("a.md", "strawberry")
    desk.run(desk.write("inner/b.md", "raspberry").parent)
    one = watched(desk, excluded=[str(desk.notes / "inner")])
    one.ingest_all()
    (desk.notes / "inner").rename(desk.notes.parent / "inner")
    assert checked(one, desk.notes, desk.notes / "inner") == []
    assert desk.ids() == {"notes-a", "inner-b"}


def test_what_did_not_work_is_tried_again_with_the_next_look(desk: Desk, two: WatchedFolder) -> None:
    note = desk.write("a.md", "blueberry")
    put = desk.index.put

    def fail(*_: object, **__: object) -> None:
        raise Unavailable("The disk is full", "Make room")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(desk.index), "put", fail)
        assert checked(two, note) == [IngestPostponed("The disk is full. Make room.")]
    assert desk.index.put == put
    assert ingested(two).processed == 1
    assert desk.found("blueberry") == {"notes-a"}
