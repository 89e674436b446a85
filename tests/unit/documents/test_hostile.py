"""Files that try to break an ingest, or that change while it runs."""

import os
import threading
from pathlib import Path

import pytest

from loci.core.errors import Conflict, Refused
from loci.core.identity import LOCAL
from loci.documents.ingest import cutting
from tests.support.words import word_of

from .conftest import Desk, open_desk

SECRET = "raspberry"


def outside(desk: Desk) -> Path:
    """A text outside the folder that is ingested."""
    secret = desk.notes.parent / "elsewhere" / "secret.md"
    secret.parent.mkdir()
    secret.write_text(SECRET)
    return secret


def test_a_line_of_200_megabytes_is_refused_with_its_size(desk: Desk) -> None:
    desk.write("kept.md", "text")
    with desk.write("huge.md", "x").open("r+b") as file:
        file.truncate(200 * 1024 * 1024)
    [failure] = desk.run().failed
    assert "200 MB, more than the limit of 10 MB" in failure.reason
    assert desk.ids() == {"notes-kept"}


def test_a_note_that_grew_too_large_stays_as_it_was(desk: Desk) -> None:
    file = desk.write("a.md", "strawberry")
    desk.write("b.md", "text")
    desk.run()
    os.truncate(file, 200 * 1024 * 1024)
    assert desk.run().removed == 0
    assert desk.found("strawberry") == {"notes-a"}


def test_a_line_of_megabytes_is_searched_to_its_end(desk: Desk) -> None:
    desk.write("line.md", "word " * 500_000 + "strawberry")
    assert desk.run().processed == 1
    assert desk.found("strawberry") == {"notes-line"}


def test_nul_bytes_are_told_and_the_rest_is_found(desk: Desk) -> None:
    desk.write("a.md", b"one\nstraw\0berry blueberry")
    [(_, problem)] = desk.run().problems
    assert (problem.line, desk.found("blueberry")) == (2, {"notes-a"})


def test_invalid_utf_8_is_told_and_the_rest_is_found(desk: Desk) -> None:
    desk.write("a.md", b"one\ntwo \xff\xfe blueberry")
    [(_, problem)] = desk.run().problems
    assert (problem.line, desk.found("blueberry")) == (2, {"notes-a"})


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_link_out_of_the_folder_is_left_out_and_told(desk: Desk, is_folder: bool) -> None:
    secret = outside(desk)
    desk.write("kept.md", "text")
    (desk.notes / "link.md").symlink_to(secret.parent if is_folder else secret)
    summary = desk.run()
    assert [one.reason for one in summary.skipped] == ["The link points outside the folder"]
    assert desk.found(SECRET) == set()


def test_links_in_a_circle_end(desk: Desk) -> None:
    desk.write("a/kept.md", "text")
    (desk.notes / "a" / "up").symlink_to(desk.notes, target_is_directory=True)
    (desk.notes / "round.md").symlink_to(desk.notes / "round.md")
    summary = desk.run()
    assert (summary.seen, [one.reason for one in summary.skipped]) == (1, ["The link is broken"])


def test_a_note_that_became_a_link_is_not_read_through_it(desk: Desk) -> None:
    file = desk.write("a.md", "text")
    desk.run()
    file.unlink()
    file.symlink_to(outside(desk))
    with pytest.raises(Refused, match="points outside"):
        desk.library.read(LOCAL, "notes-a")


def test_a_folder_that_became_a_link_is_not_read_through_it(desk: Desk) -> None:
    secret = outside(desk)
    desk.write("sub/secret.md", "text")
    desk.run()
    (desk.notes / "sub" / "secret.md").unlink()
    (desk.notes / "sub").rmdir()
    (desk.notes / "sub").symlink_to(secret.parent, target_is_directory=True)
    with pytest.raises(Refused, match="points outside"):
        desk.library.read(LOCAL, "notes-sub-secret")


def test_a_pipe_is_not_waited_for(desk: Desk) -> None:
    desk.write("kept.md", "text")
    os.mkfifo(desk.notes / "pipe.md")
    summary = desk.run()
    assert (summary.seen, [one.reason for one in summary.skipped]) == (1, ["It is not a regular file"])


def test_a_folder_with_the_name_of_a_note_is_a_folder(desk: Desk) -> None:
    desk.write("x.md/inner.md", "text")
    desk.run()
    assert desk.document("notes-x-md-inner").path == "notes/x.md/inner.md"


def test_a_note_that_became_a_folder_is_gone(desk: Desk) -> None:
    file = desk.write("x.md", "text")
    desk.write("kept.md", "text")
    desk.run()
    file.unlink()
    file.mkdir()
    assert desk.run().removed == 1


def test_a_name_that_is_no_utf_8_is_told(desk: Desk) -> None:
    desk.write("kept.md", "text")
    Path(os.fsdecode(os.fsencode(desk.notes) + b"/caf\xe9.md")).write_text("text")
    [failure] = desk.run().failed
    assert failure.path == r"notes/caf\udce9.md"


@pytest.mark.parametrize("many", [2_000, pytest.param(10_000, marks=pytest.mark.exhaustive)])
def test_thousands_of_files_of_one_byte_are_all_taken(desk: Desk, many: int) -> None:
    for number in range(many):
        desk.write(f"{number % 100}/{number}.txt", "x")
    assert desk.run().processed == many


@pytest.mark.parametrize("many", [5_000, pytest.param(100_000, marks=pytest.mark.exhaustive)])
def test_many_thousand_headings_are_one_document(desk: Desk, many: int) -> None:
    desk.write("a.md", "".join(f"# Heading {number}\n" for number in range(many)))
    desk.run()
    assert desk.found(str(many - 1)) == {"notes-a"}


def test_markdown_of_a_million_lines_is_read_as_plain_text(desk: Desk) -> None:
    desk.write("a.md", "\n" * 1_000_000 + "strawberry\n")
    [(_, problem)] = desk.run().problems
    assert "read as plain text" in problem.what
    assert desk.found("strawberry") == {"notes-a"}


def test_of_too_many_passages_the_first_are_found_and_the_rest_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "MAX_CHUNKS", 10)
    desk.write("a.md", "".join(f"# Heading {at}\n\n{word_of(at)}\n\n" for at in range(20)))
    [(_, problem)] = desk.run().problems
    assert (problem.line, desk.found(word_of(9)), desk.found(word_of(10))) == (43, {"notes-a"}, set())


def test_a_note_that_is_written_all_the_time_is_whole_when_it_rests(desk: Desk) -> None:
    file = desk.write("a.md", "begin\n" * 1000)
    rest = threading.Event()

    def write() -> None:
        with file.open("a") as opened:
            while not rest.is_set():
                opened.write("more\n")
                opened.flush()
                if opened.tell() > 1 << 20:  # or it would be too large in the end, where the run takes long
                    opened.truncate(1000)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert desk.run().seen == 1
    finally:
        rest.set()
        thread.join()
    file.write_text(file.read_text() + "strawberry\n")
    desk.run()
    assert desk.found("strawberry") == {"notes-a"}


def test_two_that_take_in_the_same_notes_agree(desk: Desk) -> None:
    for number in range(40):
        desk.write(f"{number}.md", word_of(number))
    failures: list[int] = []

    def take() -> None:
        failures.append(len(open_desk(desk.notes.parent).run().failed))

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [0, 0, 0]
    assert all(desk.found(word_of(number)) == {f"notes-{number}"} for number in range(40))


def test_who_loses_the_race_for_a_note_leaves_it_as_it_is(desk: Desk) -> None:
    file = desk.write("a.md", "strawberry")
    desk.run()
    document, version = desk.catalog.with_version(LOCAL, "notes-a")
    assert document is not None
    late = desk.writer.draft("notes-a", document.path, document.root, b"raspberry", version)
    file.write_text("blueberry")
    open_desk(desk.notes.parent).run()
    with pytest.raises(Conflict):
        desk.writer.write(LOCAL, late)
    assert desk.found("blueberry") == {"notes-a"}
