"""Ingest a folder, and again after it has changed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loci.core.errors import NotFound, Refused
from loci.core.identity import LOCAL
from loci.core.stores import ABSENT
from loci.documents.ingest.folder_ingest import IngestedFolders
from loci.documents.ingest.index_writer import COLLECTION, DocumentDraft, EmbeddedDrafts, IndexWriter
from loci.documents.ingest.local_files import local_path
from loci.markdown.nouns import WrittenLinks

from .conftest import Desk, open_desk


def test_a_note_is_found_by_its_words(desk: Desk) -> None:
    desk.write("briefs/auth.md", "# Login\n\nSafari drops the cookie.")
    desk.run()
    assert desk.found("cookies in safari") == {"notes-briefs-auth"}


def test_every_file_is_counted_once(desk: Desk) -> None:
    desk.write("same.md", "as it was")
    desk.run()
    desk.write("new.md", "new")
    desk.write("large.md", b"x" * (10 * 1024 * 1024 + 1))
    summary = desk.run()
    assert (summary.processed, summary.unchanged, len(summary.failed), summary.seen) == (1, 1, 1, 3)


def test_a_file_that_was_named_twice_is_taken_once(desk: Desk) -> None:
    note = desk.write("a.md", "text")
    assert desk.run(desk.notes, note).seen == 1


def test_only_texts_are_taken(desk: Desk) -> None:
    for name in ("a.md", "b.markdown", "c.mdx", "d.txt", "e.MD", "f.py", "g.png"):
        desk.write(name, "text")
    assert desk.run().seen == 5


def test_hidden_folders_and_modules_are_left_out(desk: Desk) -> None:
    for path in (".git/a.md", ".obsidian/b.md", "node_modules/c/README.md", "sub/.hidden.md", "kept.md"):
        desk.write(path, "text")
    desk.run()
    assert desk.ids() == {"notes-kept"}


def test_an_unchanged_folder_is_not_taken_again(modelled: Desk) -> None:
    modelled.write("a.md", "one")
    modelled.run()
    again = modelled.run()
    assert (again.processed, again.unchanged, again.embedded) == (0, 1, 0)


def test_a_note_that_the_index_has_lost_is_taken_again(desk: Desk) -> None:
    for name in ("a", "b"):
        desk.write(f"{name}.md", f"# {name}\n\nstrawberry")
    desk.run()
    desk.index.remove(LOCAL, COLLECTION, "notes-a")
    again = desk.run()
    assert (again.processed, again.unchanged) == (1, 1)
    assert desk.found("strawberry") == {"notes-a", "notes-b"}


def test_a_watched_note_that_the_index_has_lost_is_taken_again(desk: Desk) -> None:
    note = desk.write("a.md", "strawberry")
    desk.run()
    desk.lose_index()
    desk.ingest.update(LOCAL, local_path(str(desk.notes)), [str(note)], [])
    assert desk.found("strawberry") == {"notes-a"}


def test_an_upload_that_the_index_has_lost_is_taken_again(desk: Desk) -> None:
    desk.library.add(LOCAL, "a.md", b"strawberry")
    desk.lose_index()
    desk.library.add(LOCAL, "a.md", b"strawberry")
    assert desk.found("strawberry") == {"a"}


def test_of_an_edited_note_only_the_new_passages_are_embedded(modelled: Desk) -> None:
    modelled.write("a.md", "# One\n\nfirst\n\n# Two\n\nsecond\n")
    modelled.run()
    modelled.write("a.md", "# One\n\nfirst\n\n# Two\n\nthird\n")
    summary = modelled.run()
    assert (summary.chunks, summary.embedded) == (2, 1)


def test_an_edited_note_is_no_longer_found_by_what_it_said(desk: Desk) -> None:
    desk.write("a.md", "strawberry")
    desk.run()
    desk.write("a.md", "raspberry")
    desk.run()
    assert (desk.found("strawberry"), desk.found("raspberry")) == (set(), {"notes-a"})


def test_a_moved_note_keeps_its_embeddings(modelled: Desk) -> None:
    note = modelled.write("old.md", "# Title\n\ntext")
    modelled.run()
    note.rename(modelled.notes / "new.md")
    summary = modelled.run()
    assert (summary.processed, summary.removed, summary.embedded) == (1, 1, 0)
    assert modelled.ids() == {"notes-new"}


def test_a_deleted_note_is_found_no_more(desk: Desk) -> None:
    desk.write("kept.md", "apple")
    gone = desk.write("gone.md", "apple")
    desk.run()
    gone.unlink()
    assert desk.run().removed == 1
    assert desk.found("apple") == {"notes-kept"}


def test_a_run_over_a_part_leaves_the_rest(desk: Desk) -> None:
    desk.write("a/one.md", "text")
    gone = desk.write("b/two.md", "text")
    desk.run()
    gone.unlink()
    assert desk.run(desk.notes / "a").removed == 0
    assert desk.ids() == {"notes-a-one", "notes-b-two"}


def test_a_folder_whose_name_begins_alike_is_another(desk: Desk) -> None:
    desk.write("a/one.md", "text")
    gone = desk.write("ab/two.md", "text")
    desk.run()
    gone.unlink()
    assert desk.run(desk.notes / "a").removed == 0


def test_an_emptied_folder_is_taken_for_a_disk_that_is_away(desk: Desk) -> None:
    note = desk.write("a.md", "text")
    desk.run()
    note.unlink()
    with pytest.raises(Refused, match="Loci has 1 from there"):
        desk.run()
    assert desk.ids() == {"notes-a"}


def test_a_part_has_the_ids_of_the_whole(desk: Desk) -> None:
    desk.write("briefs/auth.md", "text")
    desk.run()
    assert desk.run(desk.notes / "briefs").unchanged == 1


def test_a_part_that_was_first_keeps_its_ids(desk: Desk) -> None:
    desk.write("briefs/auth.md", "text")
    desk.write("top.md", "text")
    desk.run(desk.notes / "briefs")
    desk.run()
    assert desk.ids() == {"briefs-auth", "notes-top"}


def test_a_single_file_lies_in_its_folder(desk: Desk) -> None:
    desk.run(desk.write("briefs/auth.md", "text"))
    assert desk.document("briefs-auth").path == "briefs/auth.md"


def test_two_folders_of_one_name_are_told_apart(desk: Desk) -> None:
    for folder in ("a/docs", "b/docs"):
        desk.write(f"{folder}/x.md", "text")
        desk.run(desk.notes / folder)
    assert len({document.path for document in desk.library.documents(LOCAL)}) == 2


def test_paths_that_make_one_id_get_two(desk: Desk) -> None:
    for name in ("a b.md", "a-b.md", "a_b.md", "a-b.txt"):
        desk.write(name, f"text of {name}")
    desk.run()
    assert len(desk.ids()) == 4


def test_ids_stay_when_another_path_comes_first(desk: Desk) -> None:
    desk.write("b-c.md", "text")
    desk.run()
    desk.write("b c.md", "other")
    desk.run()
    assert desk.document("notes-b-c").path == "notes/b-c.md"


def test_a_broken_front_matter_keeps_the_note_and_is_told(desk: Desk) -> None:
    desk.write("a.md", "---\ntitle: Auth: the fix\n---\n# Heading\n\nstrawberry\n")
    [(path, problem)] = desk.run().problems
    assert (path, problem.line, desk.found("strawberry")) == ("notes/a.md", 2, {"notes-a"})


def test_what_is_wrong_is_kept_with_the_document(desk: Desk) -> None:
    desk.write("a.md", b"caf\xe9")
    desk.run()
    assert "UTF-8" in desk.document("notes-a").problems[0].what


def test_progress_ends_with_all(desk: Desk) -> None:
    for number in range(5):
        desk.write(f"{number}.md", "text")
    said: list[tuple[int, int]] = []

    def say(done: int, total: int, path: str, note: str = "", /) -> None:
        said.append((done, total))

    desk.ingest.run(LOCAL, [str(desk.notes)], say)
    assert said == [(at, 5) for at in range(1, 6)]


def test_what_was_interrupted_is_completed(desk: Desk, tmp_path: Path) -> None:
    for number in range(200):
        desk.write(f"{number}.md", f"number{number}")

    def interrupt(done: int, *_: object) -> None:
        if done == 150:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.ingest.run(LOCAL, [str(desk.notes)], interrupt)
    assert open_desk(tmp_path).run().seen == 200
    assert all(desk.found(f"number{number}") for number in range(200))


@pytest.mark.parametrize("part", [False, True])
def test_what_is_forgotten_while_it_is_ingested_stays_forgotten(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, part: bool
) -> None:
    """As by a command, while a server follows the folder."""
    file = desk.write("a.md", "apple")
    desk.write("b.md", "banana")
    desk.run()
    desk.write("a.md", "apple and pear")
    folders, embed = IngestedFolders(desk.catalog), IndexWriter.embed

    def forgotten_meanwhile(*given: Any) -> EmbeddedDrafts:
        forgotten = [one for one in desk.library.documents(LOCAL) if one.id == "notes-a"]
        folders.forget(LOCAL, forgotten)
        desk.library.remove(LOCAL, forgotten)
        return embed(*given)

    monkeypatch.setattr(IndexWriter, "embed", forgotten_meanwhile)
    if part:
        desk.ingest.update(LOCAL, local_path(str(desk.notes)), [str(file)], [])
    else:
        desk.ingest.run(LOCAL, [str(desk.notes)], with_forgotten=False)
    assert (desk.found("pear"), desk.ids()) == (set(), {"notes-b"})


def test_a_document_that_was_read_in_another_way_is_read_again(desk: Desk) -> None:
    desk.write("a.md", "# A\n\n[[b]]\n")
    desk.run()
    document, version = desk.catalog.with_version(LOCAL, "notes-a")
    assert document
    desk.catalog.put(LOCAL, replace(document, parser_version=0), version)
    desk.catalog.put_mentions(LOCAL, "notes-a", WrittenLinks())
    assert (desk.run().processed, desk.run().unchanged) == (1, 1)
    assert [one.target for one in desk.catalog.mentions(LOCAL)["notes-a"].mentions] == ["b"]


def test_all_records_are_looked_through_again_only_after_a_write(desk: Desk) -> None:
    desk.write("ferry.md", "# Ferry\n")
    desk.run()

    def pages() -> int:
        before = len(desk.records.calls)
        desk.upkeep.read_again(LOCAL, lambda: False)
        return desk.records.calls[before:].count(("list", "document"))

    assert [pages(), pages(), pages()] == [1, 0, 0]
    desk.write("train.md", "# Train\n")
    desk.run()
    assert [pages(), pages()] == [1, 0]


def test_a_document_that_an_older_version_read_is_read_again(desk: Desk) -> None:
    desk.write("zh/图谱视图.md", "text\n\n## Shiny new things\n\nmore\n")
    desk.run()
    new = desk.document("notes-zh-图谱视图")
    chunks = [replace(one, title="Shiny new things", heading=(), words="text more") for one in desk.chunks(new.id)]
    desk.writer.remove(LOCAL, new.id)
    document = replace(new, title="Shiny new things", parser_version=1)
    desk.writer.write(LOCAL, DocumentDraft(document, ABSENT, tuple(chunks)))
    assert desk.found("图谱视图") == set()
    desk.run()
    assert desk.ids() == {new.id}
    assert (desk.document(new.id).title, desk.found("图谱视图")) == ("图谱视图", {new.id})


def test_a_document_that_was_only_begun_is_done_again(desk: Desk) -> None:
    desk.write("a.md", "text")
    desk.run()
    document, version = desk.catalog.with_version(LOCAL, "notes-a")
    assert document is not None
    # As a process leaves it that is killed before its last step.
    desk.catalog.put(LOCAL, replace(document, sha256=""), version)
    assert desk.run().processed == 1


def test_a_path_that_is_not_there_is_an_error(desk: Desk) -> None:
    with pytest.raises(NotFound, match="loci forget"):
        desk.run(desk.notes / "nothing")


def test_a_file_that_is_no_text_is_an_error(desk: Desk) -> None:
    with pytest.raises(Refused, match="is not a document"):
        desk.run(desk.write("a.png", "x"))


def test_a_folder_without_a_text_is_an_error(desk: Desk) -> None:
    with pytest.raises(Refused, match="nothing to ingest"):
        desk.run()
