"""`search_memory` with a model: the vector leg, on each runtime, and what a real model knows to be the same."""

import contextlib
import json
from collections.abc import Generator
from pathlib import Path

import pytest
from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from loci.mcp.server import build_server
from loci.model_store.models import ModelsFolder
from tests.attack.doors import uvicorn_door
from tests.support.moto_aws import ON_VECTORS, moto_aws
from tests.support.small_models import EMBEDDER, RERANKER, lay_out_embedder, lay_out_reranker
from tests.surface.conftest import Connect
from tests.surface.files.conftest import on_vectors_too
from tests.surface.files.searches import add, names, search
from tests.surface.files.visitors import Visitor
from tests.surface.results import structured

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["embedded"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[App]:
    """Loci with the real model if the test is marked so; else with a random one."""
    if request.node.get_closest_marker("models"):
        minilm: ModelsFolder = request.getfixturevalue("minilm")
        model: dict[str, object] = {"models": minilm.folder}
    else:
        lay_out_embedder(tmp_path / "models")
        model = {"models": tmp_path / "models", "embedder": EMBEDDER}
    with contextlib.ExitStack() as stack:
        if request.param == "vectors":
            stack.enter_context(moto_aws())
        where = ON_VECTORS if request.param == "vectors" else {"data": tmp_path / "data"}
        yield stack.enter_context(contextlib.closing(build_app(load_settings(where | model))))


def embedded(app: App, **texts: str) -> None:
    """Files with these names and texts, with their vectors."""
    for name, text in texts.items():
        app.files.parts.ingest.embed(LOCAL, add(app, f"{name}.txt", text))


@on_vectors_too
async def test_the_rewritten_query_decides_if_the_words_leave_files_equal(connect: Connect, app: App) -> None:
    a, b = "memory memory memory memory is here", "search search search search is here"
    embedded(app, a=a, b=b)
    for rewritten, first in ((a, "a.txt"), (b, "b.txt")):
        query = {"bm25_cleaned_query": "here", "rewritten_query_for_dense_model": rewritten}
        assert names(await search(connect, query))[0] == first


async def test_an_answer_says_which_files_have_no_vectors_yet(connect: Connect, app: App) -> None:
    embedded(app, boat="The boat to Kos leaves at noon")
    assert (await search(connect, "boat to Kos"))["status"] == "ok"
    id = add(app, "tram.txt", "The tram leaves at noon")
    found = await search(connect, "boat to Kos")
    assert found["status"] == "embedding"
    assert "by words alone until embedded: tram.txt" in found["reason"]
    app.files.parts.ingest.embed(LOCAL, id)
    assert (await search(connect, "boat to Kos"))["status"] == "ok"


async def test_a_cross_encoder_changes_no_level(tmp_path: Path) -> None:
    """Its scores mean something else for each model."""
    lay_out_embedder(tmp_path / "models")
    lay_out_reranker(tmp_path / "models")
    levels: list[dict[str, str]] = []
    for seconds in (0.0, 20.0):
        told: dict[str, object] = {"embedder": EMBEDDER, "reranker": RERANKER, "rerank_seconds": seconds}
        app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "models", **told}))
        embedded(app, boat="The boat to Kos leaves at noon", tram="The tram", bus="A bus leaves when it is full")
        async with Client(build_server(app, "files"), mode="2026-07-28") as client:
            answer = await client.call_tool("search_memory", {"parsed_query": "when does the boat to Kos leave"})
        levels.append({one["name"]: one["match"] for one in structured(answer)["result"]["results"]})
        app.close()
    assert levels[0] == levels[1]
    assert levels[0]["boat.txt"] == "strong"


def test_the_page_tells_the_rank_of_each_file_after_each_stage(app: App, tmp_path: Path) -> None:
    embedded(app, boat="The boat to Kos leaves at noon", tram="The tram", bus="A bus leaves when it is full")
    lay_out_reranker(tmp_path / "models")
    reading = build_app(app.settings.model_copy(update={"reranker": RERANKER, "rerank_seconds": 20.0}))
    with contextlib.closing(reading), uvicorn_door(asgi(reading)) as door:
        answer = Visitor(reading, door, LOCAL).get("/ui/search/results?q=when+does+the+boat+to+Kos+leave")
    why = [one["explain"] for one in json.loads(answer.body)["results"]]
    assert len(why) == 3
    for stage in ("vector", "fused", "late", "rerank"):
        assert sorted(one[stage] for one in why) == [1, 2, 3], stage
    assert all(isinstance(one[score], float) for one in why for score in ("cosine", "closeness", "relevance"))


@pytest.mark.models
async def test_a_passage_with_the_meaning_in_other_words_is_found(connect: Connect, app: App) -> None:
    embedded(
        app,
        boat="Crossing the sea by vessel to Kos sets you back 12 euros.",
        bread="Knead the dough, and let it rest for an hour.",
        stars="Jupiter is larger than all other planets together.",
    )
    answer = await search(connect, "how expensive is a ferry ticket?")
    assert (names(answer)[0], answer["match"]) == ("boat.txt", "possible")


@pytest.mark.models
async def test_the_rewritten_query_finds_what_the_words_do_not(connect: Connect, app: App) -> None:
    embedded(
        app,
        boat="Crossing the sea by vessel to Kos sets you back 12 euros.",
        bread="Knead the dough, and let it rest for an hour.",
    )
    for rewritten, first in (("price of a ferry ticket", "boat.txt"), ("how a loaf is baked", "bread.txt")):
        query = {"bm25_cleaned_query": "zxqv", "rewritten_query_for_dense_model": rewritten}
        assert names(await search(connect, query))[0] == first
