"""A library in OpenSearch is searched and written while and after its index gets more shards."""

from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_index_rebuild
from tests.support.small_models import lay_out_embedder
from tests.surface.conftest import Connect
from tests.surface.results import call, written
from tests.surface.runtimes import take_in

pytestmark = [pytest.mark.anyio, pytest.mark.aws]
NOTES = {f"note {number}.md": f"# Note {number}\n\nThe ferry leaves at {number}.\n" for number in range(8)}


@pytest.mark.parametrize("app", ["opensearch", "opensearch3"], indirect=True)
async def test_a_reindex_moves_the_library_to_more_shards_under_whoever_uses_it(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    lay_out_embedder(app.settings.models_folder)
    take_in(app, written(tmp_path / "notes", NOTES))
    before = await call(connect, "search_documents", query="when does the ferry leave", limit=8)
    assert len(before["results"]) == 8
    more = app.settings.aws.model_copy(update={"search_shards": 3})
    rebuild = build_index_rebuild(app.settings.model_copy(update={"aws": more}))
    assert rebuild.begin() == "Copied the index into one with 3 shards"
    assert await call(connect, "search_documents", query="when does the ferry leave", limit=8) == before
    await call(connect, "write_document", path="notes/tram.md", content="# Tram\n\nThe tram leaves at ten.")
    found = await call(connect, "search_documents", query="tram", limit=1)
    assert [row["id"] for row in found["results"]] == ["notes-tram"]
    assert rebuild.begin() is None
