"""The index of an owner is rebuilt from the stored texts, beside others, and whenever it was stopped."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from loci.core.identity import LOCAL
from loci.documents.ingest.index_writer import COLLECTION
from loci.documents.ingest.local_files import blob_key
from loci.documents.upkeep import ReindexSummary
from tests.support.small_models import EMBEDDER, lay_out_embedder

from .conftest import Desk, open_desk


def rebuilt(desk: Desk) -> ReindexSummary:
    return desk.upkeep.reindex(LOCAL)


@pytest.fixture
def filled(desk: Desk) -> Desk:
    """Notes in files and one that Loci keeps."""
    desk.write("a.md", "# A\n\nstrawberry, see [[b]]")
    desk.write("b.md", "# B\n\nstrawberry")
    desk.run()
    desk.library.add(LOCAL, "kept.md", b"# Kept\n\nstrawberry")
    return desk


ALL = {"notes-a", "notes-b", "kept"}


def test_files_and_kept_texts_are_found_again_after_the_index_was_lost(filled: Desk) -> None:
    filled.lose_index()
    assert filled.found("strawberry") == set()
    assert rebuilt(filled) == ReindexSummary(rebuilt=3)
    assert filled.found("strawberry") == ALL


def test_what_the_index_has_is_not_written_again(filled: Desk) -> None:
    filled.index.remove(LOCAL, COLLECTION, "notes-b")
    before = dict(filled.catalog.with_versions(LOCAL))
    assert rebuilt(filled) == ReindexSummary(rebuilt=1, unchanged=2)
    after = dict(filled.catalog.with_versions(LOCAL))
    assert {one.id for one, version in before.items() if after[one] != version} == {"notes-b"}


def test_a_text_that_differs_from_the_record_is_indexed_as_it_is_now(filled: Desk) -> None:
    filled.write("a.md", "# A\n\nraspberry")
    assert rebuilt(filled).rebuilt == 1
    assert filled.found("raspberry") == {"notes-a"}


def test_a_document_that_an_older_parser_read_is_read_again(filled: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loci.documents.ingest.index_writer.PARSER_VERSION", 99)
    monkeypatch.setattr("loci.documents.upkeep.PARSER_VERSION", 99)
    state = filled.index.state(LOCAL, COLLECTION)
    assert rebuilt(filled) == ReindexSummary(unchanged=3)
    assert filled.index.state(LOCAL, COLLECTION) == state  # their passages are the same: only the records change
    assert {one.parser_version for one in filled.catalog.documents(LOCAL)} == {99}


def test_another_model_embeds_every_document(modelled: Desk) -> None:
    modelled.write("a.md", "text")
    modelled.run()
    shutil.rmtree(modelled.models / EMBEDDER)
    lay_out_embedder(modelled.models, seed=2)
    later = open_desk(modelled.notes.parent)
    assert rebuilt(later).rebuilt == 1
    assert {chunk.embedding and chunk.embedding.model for chunk in later.chunks("notes-a")} == {later.writer.model()}


def test_a_run_that_was_stopped_goes_on_where_it_was(desk: Desk) -> None:
    for number in range(300):
        desk.write(f"{number}.md", f"# Note {number}\n\nstrawberry")
    desk.run()
    desk.lose_index()

    def stop(done: int, total: int, path: str, note: str = "", /) -> None:
        if done == 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.upkeep.reindex(LOCAL, stop)
    before = len(desk.found("strawberry"))
    held = len(desk.index.documents(LOCAL, COLLECTION))
    assert before
    later = open_desk(desk.notes.parent)
    assert rebuilt(later) == ReindexSummary(rebuilt=300 - held, unchanged=held)
    assert len(later.index.documents(LOCAL, COLLECTION)) == 300


def test_progress_counts_every_document_once(filled: Desk) -> None:
    seen: list[tuple[int, int, str]] = []

    def see(done: int, total: int, path: str, note: str = "", /) -> None:
        seen.append((done, total, path))

    filled.upkeep.reindex(LOCAL, see)
    assert seen == [(1, 3, "kept.md"), (2, 3, "notes/a.md"), (3, 3, "notes/b.md")]


def test_a_document_that_somebody_writes_meanwhile_keeps_the_newer_text(filled: Desk) -> None:
    filled.lose_index()

    def write(done: int, total: int, path: str, note: str = "", /) -> None:
        if path == "kept.md":
            filled.library.add(LOCAL, "kept.md", b"raspberry")

    assert filled.upkeep.reindex(LOCAL, write).is_complete
    assert filled.found("raspberry") == {"kept"}
    assert filled.found("strawberry") == {"notes-a", "notes-b"}


def test_a_document_that_somebody_removes_meanwhile_stays_removed(filled: Desk) -> None:
    filled.lose_index()

    def remove(done: int, total: int, path: str, note: str = "", /) -> None:
        if path == "kept.md":
            filled.library.remove(LOCAL, [filled.document("kept")])

    assert filled.upkeep.reindex(LOCAL, remove).is_complete
    assert filled.ids() == {"notes-a", "notes-b"}


def test_documents_keep_their_age(filled: Desk) -> None:
    aged = replace(filled.document("kept"), ingested_at="2020-01-01T00:00:00Z")
    filled.catalog.put(LOCAL, aged, filled.catalog.with_version(LOCAL, "kept")[1])
    filled.lose_index()
    rebuilt(filled)
    assert filled.document("kept").ingested_at == aged.ingested_at


def test_passages_of_unknown_documents_are_removed(filled: Desk) -> None:
    filled.catalog.remove(LOCAL, "notes-b")
    assert rebuilt(filled) == ReindexSummary(unchanged=2, unknown=1)
    assert filled.found("strawberry") == {"notes-a", "kept"}


# Texts that are gone


def test_a_document_whose_file_is_gone_stays_until_the_next_ingest_of_its_folder(filled: Desk) -> None:
    (filled.notes / "b.md").rename(filled.notes / "c.md")
    summary = rebuilt(filled)
    assert [one.path for one in summary.failed] == ["notes/b.md"]
    assert f"loci ingest {filled.notes}" in summary.failed[0].reason
    assert filled.found("strawberry") == ALL
    filled.run()
    assert filled.document("notes-c").former == ("notes/b.md",)


def test_documents_of_a_folder_that_is_gone_stay(filled: Desk) -> None:
    shutil.rmtree(filled.notes)
    summary = rebuilt(filled)
    assert [one.path for one in summary.failed] == ["notes/a.md", "notes/b.md"]
    assert not summary.is_complete
    assert filled.found("strawberry") == ALL


def test_what_cannot_be_read_is_named(filled: Desk, tmp_path: Path) -> None:
    (filled.notes / "b.md").unlink()
    (filled.notes / "b.md").symlink_to(tmp_path)
    filled.library.add(LOCAL, "lost.md", b"lost")
    filled.lose_index()
    summary = rebuilt(filled)
    assert {one.path for one in summary.failed} == {"notes/b.md"}
    assert (summary.rebuilt, summary.is_complete) == (3, False)
    assert filled.ids() == ALL | {"lost"}


def test_a_kept_text_that_is_lost_is_named_and_its_document_stays(filled: Desk) -> None:
    filled.blobs.remove(LOCAL, blob_key("kept"))
    summary = rebuilt(filled)
    assert [one.path for one in summary.failed] == ["kept.md"]
    assert filled.ids() == ALL
