"""A vault as people have it, asked for all about a word, and for what is not in it."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.app import App
from loci.mcp.server import build_server
from loci.search.words import index_words
from tests.support.each import each
from tests.support.small_models import lay_out_embedder
from tests.support.vault.library import vault_library
from tests.support.vault.write import vault_notes
from tests.surface.conftest import Connect
from tests.surface.results import call, structured, written
from tests.surface.runtimes import RUNTIMES, WITH_OPENSEARCH_3, take_in, vault_by_words

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=["words", pytest.param("model", marks=pytest.mark.exhaustive)])
def vault(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> App:
    if request.param == "words":
        return vault_by_words(tmp_path_factory)
    return vault_library(tmp_path_factory.mktemp("vault"), with_model=True)


@pytest.fixture
async def client(vault: App) -> AsyncGenerator[Client]:
    async with Client(build_server(vault, "documents")) as client:
        yield client


async def every_result(client: Client, **arguments: object) -> list[dict[str, Any]]:
    """All results, with those that the answer had no room for."""
    found = structured(await client.call_tool("search_documents", dict(arguments)))
    if "scratchpad_id" not in found:
        return found["results"]
    text, at = "", 0
    while part := structured(await client.call_tool("scratchpad_read", {"id": found["scratchpad_id"], "offset": at})):
        text += part["result"]
        at = part["next_offset"]
        if at is None:
            break
    return json.loads(text)["results"]


def notes_with(word: str) -> set[str]:
    [wanted] = index_words(word)
    return {f"vault/{note.path}" for note in vault_notes() if wanted in index_words(note.content.decode("utf-8-sig"))}


@each("word", ["notiz", "fenster", "vorher"])
async def test_whoever_asks_for_a_hundred_finds_all_that_have_the_word(client: Client, word: str) -> None:
    having = notes_with(word)
    assert 60 < len(having) < 100
    assert having <= {row["path"] for row in await every_result(client, query=word, limit=100)}


@pytest.mark.parametrize("with_model", [False, True])
@pytest.mark.parametrize("app", WITH_OPENSEARCH_3, indirect=True)
async def test_long_notes_hide_no_short_one_from_whoever_asks_for_all(
    app: App, connect: Connect, tmp_path: Path, with_model: bool
) -> None:
    if with_model:
        lay_out_embedder(app.settings.models_folder)
    paragraph = "The zeppelin rises over the fields of the county, slowly and with much noise of engines. " * 12
    long = {f"long {number}.md": f"{paragraph}\n\n" * 30 for number in range(8)}
    short = {f"short {number}.md": f"Note {number} on a zeppelin and on other things.\n" for number in range(60)}
    near = {f"near {number}.md": f"Airships rise over fields, with noise: {number}.\n" for number in range(60)}
    take_in(app, written(tmp_path / "notes", {**long, **short, **near}))
    async with connect("documents") as client:
        found = {row["path"] for row in await every_result(client, query="zeppelin", limit=100)}
    assert {f"notes/{name}" for name in (*long, *short)} <= found


FOREIGN = (
    "how do I bake sourdough bread",
    "what is the capital of France",
    "kubernetes ingress controller",
    "my cat is sick what should I do",
    "photosynthesis in plants",
    "when was the roman empire founded",
    "best pizza in Naples",
    "install nvidia drivers",
    "how to change a flat tire",
    "quantum entanglement explained simply",
)


async def test_a_question_about_something_else_finds_nothing_and_says_so(client: Client) -> None:
    for question in FOREIGN:
        found = structured(await client.call_tool("search_documents", {"query": question}))
        assert found["results"] == [], question
        assert found["metadata"]["reason"].startswith("No document "), question


async def test_there_is_nothing_to_read_about_something_else(client: Client) -> None:
    for context in ("zzzqqq", "bake sourdough bread"):
        suggested = structured(await client.call_tool("suggest_reading", {"context": context}))
        assert (suggested["documents"], suggested["left_out"]) == ([], 0)
        assert suggested["reason"].startswith("There is nothing to suggest: no document ")


@pytest.mark.parametrize("with_model", [False, True])
@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
async def test_both_runtimes_say_that_nothing_fits_and_that_there_is_nothing_to_suggest(
    app: App, connect: Connect, tmp_path: Path, with_model: bool
) -> None:
    if with_model:
        lay_out_embedder(app.settings.models_folder)
    for note in vault_notes()[::30]:
        file = tmp_path / "vault" / note.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(note.content)
    take_in(app, tmp_path / "vault")
    for question in FOREIGN[:4]:
        found = await call(connect, "search_documents", query=question)
        assert (found["results"], found["metadata"]["reason"][:12]) == ([], "No document "), question
        suggested = await call(connect, "suggest_reading", context=question)
        assert suggested["documents"] == []
        assert suggested["reason"].startswith("There is nothing to suggest: no document "), question
