"""Documents on a stage like `solo`: the index is in S3 Vectors, and a model embeds in the function itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from tests.support.moto_aws import ON_VECTORS, moto_aws
from tests.support.small_models import EMBEDDER, lay_out_embedder
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio


RIVER, LAKE = "notes/river.md", "notes/lake.md"
NOTES = {RIVER: "# River\n\nHorses cross it in winter.\n", LAKE: "# Lake\n\nGeese rest in May.\n"}


@pytest.fixture
def solo(tmp_path: Path) -> Iterator[dict[str, object]]:
    """The settings of such a stage, which has no model that reranks."""
    lay_out_embedder(tmp_path)
    with moto_aws():
        yield {**ON_VECTORS, "models": tmp_path, "embedder": EMBEDDER}


def environment(solo: dict[str, object]) -> App:
    """One of the function, with a disk and memory of its own."""
    return build_app(load_settings(solo))


async def ask(app: App, tool: str, **arguments: object) -> Any:
    async with Client(build_server(app), mode="2026-07-28") as client:
        answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, texts(answer)
    return structured(answer)


async def write_notes(app: App) -> None:
    for path, text in NOTES.items():
        await ask(app, "write_document", path=path, mode="create", content=text)


async def explained(app: App) -> dict[str, Any]:
    """How each document was found that a search for its words or its meaning finds."""
    found = await ask(app, "search_documents", query="horses", explain=True)
    return {row["path"]: row["explain"] for row in found["results"]}


async def test_a_search_finds_by_words_and_by_meaning(solo: dict[str, object]) -> None:
    app = environment(solo)
    await write_notes(app)
    by = await explained(app)
    assert by.keys() == NOTES.keys()
    assert by[RIVER]["words"] == 1
    assert by[LAKE]["words"] is None  # only its vector is near
    assert all(one["cosine"] > 0 for one in by.values())


async def test_another_environment_finds_the_same_by_the_vectors_in_the_bucket(solo: dict[str, object]) -> None:
    app = environment(solo)
    await write_notes(app)
    assert await explained(environment(solo)) == await explained(app)


async def test_another_environment_compares_documents_by_these_vectors(solo: dict[str, object]) -> None:
    await write_notes(environment(solo))
    [gap] = (await ask(environment(solo), "find_gaps", threshold=0.0))["result"]
    assert {gap["source_id"], gap["target_id"]} == {"notes-lake", "notes-river"}
    assert gap["compared_by"].startswith(f"{EMBEDDER}@")
