"""Going through the whole vault as an agent does: down its folders, and from what is found to what is read."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from mcp import Client

from loci.app import App
from loci.mcp.server import build_server
from tests.support.vault.words import LANGUAGES
from tests.support.vault.write import Note, vault_notes
from tests.surface.results import structured, texts
from tests.surface.runtimes import vault_by_words

pytestmark = pytest.mark.anyio
ANSWER_BYTES = 16 * 1024


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> App:
    return vault_by_words(tmp_path_factory)


@pytest.fixture
async def client(vault: App) -> AsyncGenerator[Client]:
    async with Client(build_server(vault, "documents")) as client:
        yield client


async def listed(client: Client, **arguments: object) -> list[str]:
    answer = await client.call_tool("list_directory_structure", dict(arguments))
    assert not answer.is_error, texts(answer)
    assert "scratchpad_id" not in structured(answer), arguments
    return structured(answer)["result"]


async def test_whoever_goes_down_the_folders_level_by_level_finds_every_note(client: Client) -> None:
    assert await listed(client, depth=1) == ["vault/"]
    waiting, notes = ["vault/"], list[str]()
    while waiting:
        for one in await listed(client, prefix=waiting.pop(), depth=1, documents=True):
            (waiting if one.endswith("/") else notes).append(one)
    assert sorted(notes) == sorted(f"vault/{note.path}" for note in vault_notes())


async def test_the_first_two_levels_are_one_short_answer(client: Client) -> None:
    found = await listed(client, depth=2)
    assert set(found) == {"vault/", "vault/docs/", "vault/releases/", *(f"vault/{one}/" for one in LANGUAGES)}


async def test_a_search_in_each_language_finds_only_its_notes_below_its_folder(client: Client) -> None:
    for language, words in LANGUAGES.items():
        query = words[0].split()[1]
        arguments: dict[str, Any] = {"query": query, "folder": f"vault/{language}", "limit": 10, "max_tokens": 9000}
        rows = structured(await client.call_tool("search_documents", arguments))["results"]
        assert rows, language
        assert all(row["path"].startswith(f"vault/{language}/") for row in rows), language


async def test_the_property_of_a_language_finds_only_its_notes(client: Client) -> None:
    def has(note: Note) -> bool:
        return b"tags: [help, fr]" in note.content

    having = {f"vault/{note.path}" for note in vault_notes() if has(note)}
    assert len(having) > 50
    arguments: dict[str, Any] = {"query": "note", "properties": {"tags": "fr"}, "limit": 50, "max_tokens": 20_000}
    rows = structured(await client.call_tool("search_documents", arguments))["results"]
    assert rows
    assert {row["path"] for row in rows} <= having


async def test_what_was_found_is_read_in_one_call(client: Client) -> None:
    rows = structured(await client.call_tool("search_documents", {"query": "graph view", "limit": 5}))["results"]
    first, *rest = [row["id"] for row in rows]
    answer = await client.call_tool("read_node_content", {"id": first, "more": rest})
    told = structured(answer)
    contents = {f"vault/{note.path}": note.content.decode() for note in vault_notes()}
    for one in (told, *told["more"]):
        assert contents[one["path"]].startswith(one["result"])
        assert one["go_on"] is not None or contents[one["path"]] == one["result"]
    assert sum(len(one.encode()) for one in texts(answer)) <= ANSWER_BYTES
