"""All stages of a search through the documents' tools: vectors, cross-encoder, and a language model that a stub is."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from loci.search.inference import EmbeddingModel
from tests.support.each import each
from tests.support.small_models import EMBEDDER, RERANKER, lay_out_embedder, small_models
from tests.support.stub_model import Fails, Hangs, Reply, Says, StubModel, stub_model
from tests.surface.results import structured, texts

__all__ = ["small_models"]

pytestmark = pytest.mark.anyio

QUESTION = "search memory"
NOTES = 60
CONTEXT = "It says where memory is."


@pytest.fixture(scope="module")
def stub() -> Iterator[StubModel]:
    with stub_model() as stub:
        yield stub


@pytest.fixture(params=["openai", "bedrock"])
def provider(request: pytest.FixtureRequest, stub: StubModel, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The settings of a language model that the stub is."""
    stub.requests.clear()
    if request.param == "openai":
        return {"language_model": "openai:test", "language_model_url": stub.url, "language_model_key": "sk-1"}
    for name, value in {
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": stub.url,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "eu-south-2",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    return {"language_model": "bedrock:test"}


def library(folder: Path, models: Path, **settings: object) -> App:
    """Loci with notes that all have the question's words, each in other company."""
    app = build_app(load_settings({"data": folder / "data", "models": models, "rerank_seconds": 20, **settings}))
    notes = folder / "notes"
    notes.mkdir(parents=True)
    for number in range(NOTES):
        word = "abcdefghij"[number % 10] * (1 + number // 10)
        (notes / f"{number:02}.md").write_text(
            f"# Note {number}\n\nThe memory of {word} is what to search in {word}.\n"
        )
    app.documents.parts.ingest.run(LOCAL, [str(notes)])
    return app


@pytest.fixture
def app(tmp_path: Path, small_models: Path) -> App:
    return library(tmp_path, small_models)


@pytest.fixture
def reading(tmp_path: Path, small_models: Path, provider: dict[str, object]) -> Iterator[App]:
    """The library with a language model."""
    app = library(tmp_path, small_models, **provider)
    yield app
    app.close()


async def search(app: App, query: str = QUESTION, **arguments: object) -> dict[str, Any]:
    async with Client(build_server(app)) as client:
        answer = await client.call_tool("search_documents", {"query": query, "explain": True, **arguments})
    assert not answer.is_error, texts(answer)
    return structured(answer)


def without_language_model(app: App) -> App:
    """Another server on the same data."""
    return build_app(app.settings.model_copy(update={"language_model": None}))


def model_of(app: App) -> EmbeddingModel:
    model = app.documents.parts.embedder.model()
    assert model
    return model


def stages(found: dict[str, Any]) -> dict[str, bool]:
    return {stage["stage"]: stage["ran"] for stage in found["metadata"]["stages"]}


# The two fixed stages


async def test_a_plain_search_is_reranked(app: App) -> None:
    found = await search(app)
    assert list(stages(found)) == ["vector", "words", "late", "rerank", "language_model"]
    assert [name for name, ran in stages(found).items() if ran] == ["vector", "words", "late", "rerank"]
    assert {row["source"] for row in found["results"]} == {"vector+rerank"}


async def test_fifty_candidates_are_reranked_and_the_first_twenty_given(app: App) -> None:
    found = await search(app)
    [note] = [stage["note"] for stage in found["metadata"]["stages"] if stage["stage"] == "rerank"]
    assert f"{RERANKER}@" in note
    assert "50 of 50 passages" in note
    assert [row["explain"]["rerank"] for row in found["results"]] == list(range(1, 21))


async def test_who_asks_for_three_gets_the_first_three_of_who_asks_for_thirty(app: App) -> None:
    some, many = await search(app, limit=3), await search(app, limit=30)
    assert [row["id"] for row in some["results"]] == [row["id"] for row in many["results"][:3]]
    assert len(many["results"]) == 30


async def test_reranking_moves_results_and_their_scores_are_its_own(app: App) -> None:
    rows = (await search(app, limit=30))["results"]
    assert any(abs(row["explain"]["fused"] - row["explain"]["rerank"]) >= 3 for row in rows)
    scores = [row["score"] for row in rows]
    assert scores == [round(row["explain"]["relevance"], 4) for row in rows]
    assert scores == sorted(scores, reverse=True)


async def test_a_passage_s_score_depends_on_the_question(app: App) -> None:
    one, other = await search(app, limit=30), await search(app, "what is in the memory", limit=30)
    first, second = ({str(row["id"]): float(row["score"]) for row in found["results"]} for found in (one, other))
    assert any(first[id] != second[id] for id in first.keys() & second.keys())


async def test_reranking_can_be_switched_off(tmp_path: Path, small_models: Path) -> None:
    found = await search(library(tmp_path, small_models, rerank_seconds=0))
    assert not stages(found)["rerank"]
    assert {row["source"] for row in found["results"]} == {"hybrid"}


async def test_what_the_deadline_left_out_comes_behind_in_its_order(tmp_path: Path, small_models: Path) -> None:
    rows = (await search(library(tmp_path, small_models, rerank_seconds=1e-6), limit=30))["results"]
    read = [row for row in rows if row["explain"]["rerank"]]
    assert len(read) == 1
    assert rows[:1] == read
    assert {row["source"] for row in rows[1:]} == {"hybrid"}
    ranks = [row["explain"]["fused"] for row in rows[1:]]  # the scale of this model is too narrow for the late stage
    assert ranks == sorted(ranks)
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)


# The model of the vectors


async def test_another_model_s_vectors_are_never_compared(app: App, tmp_path: Path) -> None:
    models = tmp_path / "others"
    lay_out_embedder(models, EMBEDDER, seed=7)
    other = build_app(app.settings.model_copy(update={"models": models}))
    assert model_of(other).identity != model_of(app).identity
    before = await search(other)
    assert {row["explain"]["vector"] for row in before["results"]} == {None}
    assert {row["explain"]["late"] for row in before["results"]} == {None}
    other.documents.upkeep.embed_missing(LOCAL)
    after = await search(other)
    assert {row["source"] for row in after["results"]} == {"hybrid"}
    assert any(row["explain"]["vector"] for row in after["results"])


async def test_damaged_vectors_are_an_error_and_no_wrong_ranking(app: App) -> None:
    with closing(sqlite3.connect(app.settings.data / "loci.db")) as connection, connection:
        connection.execute("UPDATE vector SET vector = zeroblob(length(vector)) WHERE number = 7")
    restarted = build_app(app.settings)
    async with Client(build_server(restarted)) as client:
        answer = await client.call_tool("search_documents", {"query": QUESTION})
    assert answer.is_error
    assert texts(answer)[0].startswith("INDEX_DAMAGED: Search Error: Vector search failed: ")
    assert "loci doctor" in texts(answer)[0]
    assert "loci ingest" in texts(answer)[0]


# The language model


def judged(order: list[int], *best: tuple[int, str, str]) -> Says:
    notes = [{"passage": number, "context": context, "snippet": said} for number, context, said in best]
    return Says(json.dumps({"intent": "Where memory is.", "analysis": "All say so.", "order": order, "best": notes}))


async def test_a_language_model_orders_and_explains(reading: App, stub: StubModel) -> None:
    before = await search(without_language_model(reading))
    stub.will(judged([2, 1], *((number, CONTEXT, "is what to search") for number in range(1, 6))))
    found = await search(reading)
    ids, ordered = [row["id"] for row in before["results"]], [row["id"] for row in found["results"]]
    assert ordered == [ids[1], ids[0], *ids[2:]]
    assert found["metadata"] | {"stages": None} == {
        "query": QUESTION,
        "sonar_enabled": True,
        "match": "strong",
        "intent": "Where memory is.",
        "analysis": "All say so.",
        "reason": None,
        "stages": None,
        "undated": None,
        "warning": None,
        "total": None,
        "left_out": None,
    }
    assert [row["context"] for row in found["results"]] == [CONTEXT] * 5 + [None] * 15
    assert {row["snippet"] for row in found["results"][:5]} == {"is what to search"}


@each(
    "reply",
    [Fails(500, "server_error"), Says("not JSON"), Says('{"order": "all"}'), Hangs()],
)
async def test_without_its_answer_the_search_is_the_reranker_s(
    tmp_path: Path, small_models: Path, provider: dict[str, object], stub: StubModel, reply: Reply
) -> None:
    seconds = 1 if isinstance(reply, Hangs) else 25
    app = library(tmp_path / str(id(reply)), small_models, language_model_seconds=seconds, **provider)
    before = await search(without_language_model(app))
    stub.will(Says("not JSON"))
    await search(app)  # its client is made: on a busy machine that may take longer than it then waits
    stub.requests.clear()
    stub.will(reply)
    found = await search(app)
    ranked, expected = ([(row["id"], row["score"]) for row in one["results"]] for one in (found, before))
    assert ranked == expected
    assert found["metadata"]["sonar_enabled"] is False
    assert (found["metadata"]["intent"], found["metadata"]["analysis"]) == (None, None)
    assert stub.requests
    app.close()


async def test_words_that_a_passage_has_not_are_no_snippet(reading: App, stub: StubModel) -> None:
    stub.will(judged([1], (1, CONTEXT, "memory is a river of gold")))
    found = await search(reading)
    assert "gold" not in found["results"][0]["snippet"]
    assert found["results"][0]["context"] == CONTEXT
