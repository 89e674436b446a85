"""Embeddings that are added after the ingest, when a model arrives."""

import shutil
from typing import Any

import pytest

from loci.core.identity import LOCAL
from loci.documents.ingest.index_writer import EmbeddedDrafts, IndexWriter
from tests.support.small_models import EMBEDDER, lay_out_embedder

from .conftest import Desk, open_desk


def with_model(desk: Desk, seed: int = 1) -> Desk:
    """The library of a process that starts after the model was installed."""
    shutil.rmtree(desk.models / EMBEDDER, ignore_errors=True)
    lay_out_embedder(desk.models, seed=seed)
    return open_desk(desk.notes.parent)


def models(desk: Desk, id: str) -> set[str | None]:
    return {chunk.embedding and chunk.embedding.model for chunk in desk.chunks(id)}


def test_without_a_model_there_is_nothing_to_fill(desk: Desk) -> None:
    desk.write("a.md", "text")
    desk.run()
    assert desk.upkeep.embed_missing(LOCAL) == 0


def test_documents_that_were_there_before_the_model_get_their_embeddings(desk: Desk) -> None:
    for number in range(3):
        desk.write(f"{number}.md", f"# Title\n\ntext {number}")
    desk.run()
    later = with_model(desk)
    assert later.upkeep.embed_missing(LOCAL) == 3
    assert models(later, "notes-1") == {later.writer.model()}


def test_what_is_filled_is_filled_once(desk: Desk) -> None:
    desk.write("a.md", "text")
    desk.run()
    later = with_model(desk)
    later.upkeep.embed_missing(LOCAL)
    assert later.upkeep.embed_missing(LOCAL) == 0


def test_what_is_filled_is_not_ingested_again(desk: Desk) -> None:
    desk.write("a.md", "text")
    desk.run()
    later = with_model(desk)
    later.upkeep.embed_missing(LOCAL)
    assert later.run().unchanged == 1


def test_another_model_embeds_everything_anew(modelled: Desk) -> None:
    modelled.write("a.md", "text")
    modelled.run()
    later = with_model(modelled, seed=2)
    assert later.writer.model() != modelled.document("notes-a").model
    later.upkeep.embed_missing(LOCAL)
    assert models(later, "notes-a") == {later.writer.model()}


def test_a_document_without_text_is_filled_too(desk: Desk) -> None:
    desk.write("empty.md", "")
    desk.run()
    later = with_model(desk)
    later.upkeep.embed_missing(LOCAL)
    assert later.document("notes-empty").model == later.writer.model()


def test_a_fill_that_was_stopped_goes_on(desk: Desk) -> None:
    for number in range(6):
        desk.write(f"{number}.md", "\n\n".join(f"# Heading {at}\n\ntext {number} {at}" for at in range(50)))
    desk.run()
    later = with_model(desk)
    first = later.upkeep.embed_missing(LOCAL, stop=lambda: True)
    assert 0 < first < 6
    assert later.upkeep.embed_missing(LOCAL) == 6 - first


def test_a_document_that_is_just_being_written_is_left_to_who_writes_it(desk: Desk) -> None:
    desk.write("a.md", "text")
    desk.run()
    later = with_model(desk)
    embed = IndexWriter.embed

    def late(*given: Any) -> EmbeddedDrafts:
        patch.undo()
        desk.write("a.md", "strawberry")
        later.run()
        return embed(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IndexWriter, "embed", late)
        later.upkeep.embed_missing(LOCAL)
    assert later.found("strawberry") == {"notes-a"}
    assert later.upkeep.embed_missing(LOCAL) == 0


def test_an_ingestion_without_the_model_keeps_what_it_made(modelled: Desk) -> None:
    modelled.write("a.md", "text")
    modelled.run()
    model = modelled.writer.model()
    shutil.rmtree(modelled.models / EMBEDDER)
    later = open_desk(modelled.notes.parent)
    assert (later.writer.model(), later.run().unchanged) == (None, 1)
    assert models(later, "notes-a") == {model}
