"""`loci watch`: a server on the same data finds each change in a folder."""

import shutil
import signal
import sqlite3
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from tests.e2e.in_process import loci
from tests.support.each import each
from tests.support.held import indexed, paths
from tests.support.polling import until
from tests.support.serving import Serving, call, post, serving
from tests.support.watching import Watching, atomic_save, vim_save, watching
from tests.support.words import word_of

MANY = 1000
MANY_AT_ONCE = 400
Found = Callable[[str], set[str]]


def search(server: Serving, word: str) -> set[str]:
    """The documents that the server finds by the word."""
    answer = post(f"{server.url}/mcp", call("search_documents", {"query": word, "limit": 20})).message()
    return {row["id"] for row in answer["result"]["structuredContent"]["results"]}


@dataclass(frozen=True)
class Watched:
    """A folder, its watcher, and a search for a word of its documents."""

    data: Path
    folder: Path
    watcher: Watching
    found: Found
    numbers: Iterator[int] = field(default_factory=count)

    def new_folder(self) -> Path:
        folder = self.folder / f"f{next(self.numbers)}"
        folder.mkdir()
        return folder

    def new_word(self) -> str:
        return word_of(next(self.numbers))


@pytest.fixture
def found(data: Path) -> Generator[Found]:
    """Start a server, and return a function that searches it for a word."""
    with serving(data, LOCI_FOLLOW_FOLDERS="false") as server:
        yield partial(search, server)


@pytest.fixture
def watcher(data: Path, notes: Path) -> Generator[Watching]:
    """Return a watcher of the notes."""
    with watching(data, notes) as watcher:
        yield watcher


def on_disk(notes: Path) -> set[str]:
    return {f"notes/{file.relative_to(notes)}" for file in notes.rglob("*.md")}


# Up to date


def test_first_it_ingests_all_earlier_changes(watcher: Watching, found: Found) -> None:
    assert "2 processed" in watcher.said("processed")
    assert found("safari") == {"notes-briefs-auth"}


@pytest.mark.smoke
def test_without_a_path_it_watches_all_ingested_folders(data: Path, notes: Path, found: Found) -> None:
    loci(data, "ingest", str(notes))
    with watching(data):
        (notes / "new.md").write_text("strawberry")
        until(lambda: found("strawberry") == {"notes-new"})


def test_without_any_ingested_folder_it_says_what_to_do(data: Path) -> None:
    ended = loci(data, "watch")
    assert (ended.returncode, ended.stderr) == (
        1,
        "loci: No folder has been ingested yet. Name one: loci watch FOLDER.\n",
    )


# What happens to files


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Generator[Watched]:
    """A folder that is watched, for tests that use files and words of their own in it."""
    base = tmp_path_factory.mktemp("watched")
    (base / "all").mkdir()
    with (
        serving(base / "data", LOCI_FOLLOW_FOLDERS="false") as server,
        watching(base / "data", base / "all") as watcher,
    ):
        yield Watched(base / "data", base / "all", watcher, partial(search, server))


@each("save", [Path.write_text, atomic_save, vim_save])
def test_a_saved_file_is_found_by_its_new_words_only(watched: Watched, save: Callable[[Path, str], object]) -> None:
    folder, before, after = watched.new_folder(), watched.new_word(), watched.new_word()
    (folder / "plan.md").write_text(f"# Plan\n\n{before}\n")
    until(lambda: watched.found(before) == {f"all-{folder.name}-plan"})
    save(folder / "plan.md", f"# Plan\n\n{after}\n")
    until(lambda: watched.found(after) == {f"all-{folder.name}-plan"} and watched.found(before) == set())


def test_a_file_comes_and_goes_and_is_named_both_times(watched: Watched) -> None:
    folder, word = watched.new_folder(), watched.new_word()
    (folder / "new.md").write_text(word)
    assert watched.watcher.said(f"  + all/{folder.name}/new.md")
    until(lambda: watched.found(word) == {f"all-{folder.name}-new"})
    (folder / "new.md").unlink()
    assert watched.watcher.said(f"  - all/{folder.name}/new.md")
    until(lambda: watched.found(word) == set())


def test_a_renamed_folder_takes_its_documents_along(watched: Watched) -> None:
    folder, first, second = watched.new_folder(), watched.new_word(), watched.new_word()
    (folder / "briefs").mkdir()
    (folder / "briefs" / "auth.md").write_text(first)
    until(lambda: watched.found(first) == {f"all-{folder.name}-briefs-auth"})
    (folder / "briefs").rename(folder / "old-briefs")
    until(lambda: watched.found(first) == {f"all-{folder.name}-old-briefs-auth"})
    (folder / "old-briefs" / "auth.md").write_text(second)
    until(lambda: watched.found(second) == {f"all-{folder.name}-old-briefs-auth"})


def test_a_folder_that_is_moved_in_and_out_comes_and_goes(watched: Watched, tmp_path: Path) -> None:
    folder, word = watched.new_folder(), watched.new_word()
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    (tmp_path / "outside" / "deep" / "one.md").write_text(word)
    (tmp_path / "outside").rename(folder / "inside")
    until(lambda: watched.found(word) == {f"all-{folder.name}-inside-deep-one"})
    (folder / "inside").rename(tmp_path / "outside")
    until(lambda: watched.found(word) == set())


def test_a_folder_that_is_made_in_one_go_is_seen_whole(watched: Watched) -> None:
    folder, word = watched.new_folder(), watched.new_word()
    for number in range(20):
        deep = folder / f"a{number}" / "b" / "c"
        deep.mkdir(parents=True)
        (deep / "one.md").write_text(word)
    until(lambda: len(watched.found(word)) == 20)


def test_neither_links_nor_hidden_files_are_followed(watched: Watched, tmp_path: Path) -> None:
    folder, hidden, last = watched.new_folder(), watched.new_word(), watched.new_word()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text(hidden)
    (folder / "link.md").symlink_to(tmp_path / "outside" / "secret.md")
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / ".git").mkdir()
    (folder / ".git" / "head.md").write_text(hidden)
    (tmp_path / "outside" / "secret.md").write_text(f"{hidden} again")
    (folder / "last.md").write_text(last)
    until(lambda: watched.found(last) == {f"all-{folder.name}-last"})
    assert watched.found(hidden) == set()
    assert {one for one in paths(watched.data) if one.startswith(f"all/{folder.name}/")} == {
        f"all/{folder.name}/last.md"
    }


def test_a_file_that_cannot_be_taken_is_told_and_ends_nothing(watched: Watched) -> None:
    folder, word = watched.new_folder(), watched.new_word()
    with (folder / "huge.md").open("wb") as file:
        file.truncate(20_000_000)
    assert "more than the limit of 10 MB" in watched.watcher.said(f"  all/{folder.name}/huge.md: ")
    (folder / "new.md").write_text(word)
    until(lambda: watched.found(word) == {f"all-{folder.name}-new"})


def test_a_thousand_new_files_are_taken_in_few_goes(watcher: Watching, data: Path, notes: Path) -> None:
    (notes / "many").mkdir()
    for number in range(MANY):
        (notes / "many" / f"{number}.md").write_text(f"# Note {number}\n\nstrawberry\n")
    until(lambda: paths(data) == on_disk(notes), 300)
    watcher.stop()
    assert f"{MANY + 2:,} processed, 0 removed" in watcher.lines[-1]
    assert len([line for line in watcher.lines if "processed" in line]) <= 30


# What happens to the folder


def test_a_missing_folder_keeps_its_documents_and_is_watched_again_when_it_is_back(
    watcher: Watching, notes: Path, tmp_path: Path, found: Found
) -> None:
    notes.rename(tmp_path / "away")
    watcher.said("does not exist now")
    assert found("safari") == {"notes-briefs-auth"}
    (tmp_path / "away" / "plan.md").unlink()
    (tmp_path / "away").rename(notes)
    watcher.said("is back")
    until(lambda: found("ship") == set())
    (notes / "new.md").write_text("strawberry")
    until(lambda: found("strawberry") == {"notes-new"})


def test_a_suddenly_empty_folder_keeps_its_documents(
    watcher: Watching, notes: Path, tmp_path: Path, found: Found
) -> None:
    shutil.copytree(notes, tmp_path / "copy")
    notes.rename(tmp_path / "away")
    notes.mkdir()
    watcher.said("Loci keeps its documents until the files are back")
    assert found("safari") == {"notes-briefs-auth"}
    (tmp_path / "copy" / "new.md").write_text("strawberry")
    notes.rmdir()
    (tmp_path / "copy").rename(notes)
    until(lambda: found("strawberry") == {"notes-new"} and found("ship") == {"notes-plan"})


def test_a_folder_that_is_missing_at_the_start_keeps_its_documents(
    data: Path, notes: Path, tmp_path: Path, found: Found
) -> None:
    loci(data, "ingest", str(notes))
    notes.rename(tmp_path / "away")
    with watching(data) as watcher:
        watcher.said("does not exist now")
        assert found("safari") == {"notes-briefs-auth"}
        (tmp_path / "away").rename(notes)
        watcher.said("is back")


# How it goes on, and ends


def test_a_server_does_not_load_what_only_watching_needs(data: Path) -> None:
    with serving(data) as server:
        maps = Path(f"/proc/{server.process.pid}/maps").read_text("utf-8")
    assert "pydantic" in maps
    assert "watchfiles" not in maps


def test_polling_finds_the_same_changes(data: Path, notes: Path, found: Found) -> None:
    with watching(data, notes, "--poll"):
        atomic_save(notes / "plan.md", "strawberry")
        (notes / "briefs").rename(notes / "old")
        until(lambda: found("strawberry") == {"notes-plan"} and found("safari") == {"notes-old-auth"})


@each(("with_signal", "processed"), [(signal.SIGINT, 2), (signal.SIGTERM, 0), (signal.SIGHUP, 0)])
def test_it_ends_with_a_summary(data: Path, notes: Path, with_signal: signal.Signals, processed: int) -> None:
    with watching(data, notes) as watcher:
        assert watcher.stop(with_signal) == 0
        assert watcher.lines[-1] == f"Stopped. Since the start: {processed} processed, 0 removed, 0 failed.\n"


def test_a_second_watcher_waits_until_the_first_has_ended(watcher: Watching, data: Path, notes: Path) -> None:
    (notes.parent / "more").mkdir()
    (notes.parent / "more" / "new.md").write_text("strawberry")
    with watching(data, notes.parent / "more", until_said="waits until") as other:
        until(lambda: indexed(data, "strawberry"))
        assert not any("processed" in line for line in other.lines)
        watcher.process.kill()
        other.said("Watching ")
        (notes / "last.md").write_text("raspberry")
        until(lambda: indexed(data, "raspberry"))
        assert other.stop() == 0


def test_after_a_kill_in_a_burst_the_next_start_completes_the_index(data: Path, notes: Path, found: Found) -> None:
    for turn, word in enumerate(("alder", "birch", "cedar")):
        with watching(data, notes) as watcher:
            for number in range(MANY_AT_ONCE):
                atomic_save(notes / f"{number}.md", f"# Note {number}\n\n{word}\n")
            for number in range(turn, MANY_AT_ONCE, 7):
                (notes / f"{number}.md").unlink()
            until(lambda word=word: len(indexed(data, word)) >= 20)
            watcher.process.kill()
    with watching(data, notes):
        assert paths(data) == on_disk(notes)
    assert "0 fault" in loci(data, "doctor").stdout
    assert (found("alder"), found("birch")) == (set(), set())
    with sqlite3.connect(data / "loci.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
