"""The folders of a library and what is in them; and a library in which there is nothing yet."""

from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, structured, texts, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]

NOTES = {"en/Graph/View.md": "a", "en/Graph/old/Past.md": "b", "en/Start.md": "c", "fr/Graphe/Vue.md": "d", "x.md": "e"}


@pytest.fixture
def notes(app: App, tmp_path: Path) -> None:
    take_in(app, written(tmp_path / "vault", NOTES))


@pytest.mark.usefixtures("notes")
@each(
    ("arguments", "listed"),
    [
        ({"depth": 1}, ["vault/"]),
        ({"depth": 2}, ["vault/", "vault/en/", "vault/fr/"]),
        ({"prefix": "vault/en", "depth": 1}, ["vault/en/Graph/"]),
        ({"prefix": "/vault/en/"}, ["vault/en/Graph/", "vault/en/Graph/old/"]),
        ({"prefix": "vault/en", "depth": 1, "documents": True}, ["vault/en/Graph/", "vault/en/Start.md"]),
        ({"prefix": "vault/en/Graph/old", "documents": True}, ["vault/en/Graph/old/Past.md"]),
    ],
)
async def test_levels_are_counted_from_the_prefix_and_documents_are_listed_on_request(
    connect: Connect, arguments: dict[str, Any], listed: list[str]
) -> None:
    assert (await call(connect, "list_directory_structure", **arguments))["result"] == listed


@pytest.mark.usefixtures("notes")
async def test_a_listed_document_can_be_read_by_its_path(connect: Connect) -> None:
    listed = (await call(connect, "list_directory_structure", prefix="vault/fr/Graphe", documents=True))["result"]
    assert (await call(connect, "read_node_content", id=listed[0]))["result"] == "d"


@pytest.mark.usefixtures("notes")
async def test_a_folder_without_folders_says_how_to_see_its_documents(connect: Connect) -> None:
    async with connect("documents") as client:
        answer = await client.call_tool("list_directory_structure", {"prefix": "vault/fr/Graphe"})
    assert texts(answer) == ["[]", "There are no folders here; documents=true lists the documents"]
    assert structured(answer) == {"result": []}


@pytest.mark.usefixtures("notes")
async def test_an_unknown_folder_is_an_error_that_names_the_nearest(connect: Connect) -> None:
    said = await failed(connect, "list_directory_structure", prefix="vault/en/Grpah")
    assert said.startswith("FOLDER_NOT_FOUND: There is no folder 'vault/en/Grpah/' with documents. Did you mean ")
    assert "vault/en/Graph/" in said


READING: dict[str, dict[str, Any]] = {
    "search_documents": {"query": "tides"},
    "temporal_search": {"query": "newest notes", "date_range": "last week"},
    "query_by_tags": {"tags": ["help"]},
    "read_node_content": {"id": "notes-tides"},
    "list_directory_structure": {},
    "explore_links": {"id": "notes-tides"},
    "graph_neighbors": {"id": "notes/tides.md"},
    "find_gaps": {},
    "cluster_documents": {},
    "suggest_reading": {"context": "tides"},
}


async def test_an_empty_library_says_in_every_reading_tool_that_it_is_empty_and_how_to_fill_it(
    connect: Connect,
) -> None:
    async with connect("documents") as client:
        said = {tool: " ".join(texts(await client.call_tool(tool, arguments))) for tool, arguments in READING.items()}
    for tool, text in said.items():
        assert "The library is empty. Fill it with: loci ingest FOLDER" in text, tool
