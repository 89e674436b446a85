"""What compares documents is told: the model that has embedded them all, else their words."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from tests.support.small_models import EMBEDDER, small_models
from tests.surface.ferries import NOTES
from tests.surface.results import structured, texts, written

__all__ = ["small_models"]

pytestmark = pytest.mark.anyio


@pytest.fixture
def app(tmp_path: Path, small_models: Path) -> App:
    """A library that a model has embedded; two of its notes say the same."""
    app = build_app(load_settings({"data": tmp_path / "data", "models": small_models}))
    notes = NOTES | {"copy.md": NOTES["bread.md"]}
    app.documents.parts.ingest.run(LOCAL, [str(written(tmp_path / "notes", notes))])
    return app


async def call(app: App, tool: str, **arguments: object) -> Any:
    async with Client(build_server(app)) as client:
        answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, texts(answer)
    return structured(answer)


async def test_a_similar_link_names_the_model(app: App) -> None:
    found = (await call(app, "explore_links", id="notes-copy", relation="similar"))["result"]
    edge = next(one for one in found if one["target"] == "notes-bread")
    assert edge["evidence"].startswith(f"Compared by {EMBEDDER}@")
    assert edge["similarity"] > 0.9


async def test_groups_and_reading_name_it(app: App) -> None:
    groups = await call(app, "cluster_documents")
    assert groups["compared_by"].startswith(f"links and {EMBEDDER}@")
    reading = await call(app, "suggest_reading", context="baking bread")
    assert reading["compared_by"].startswith(f"{EMBEDDER}@")


async def test_a_document_that_the_model_has_not_embedded_makes_all_compare_by_words(app: App, tmp_path: Path) -> None:
    without = build_app(app.settings.model_copy(update={"models": tmp_path / "none"}))
    without.documents.ingest(LOCAL, [str(written(tmp_path / "more", {"sand.md": "# Sand\n\nDunes wander.\n"}))])
    groups = await call(app, "cluster_documents")
    assert groups["compared_by"] == "links and TF-IDF"
