"""`search` and `fetch`, in the shape that ChatGPT's connectors and deep research read."""

import json
from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.each import each
from tests.support.vault.write import vault_notes
from tests.surface.conftest import Connect
from tests.surface.results import structured, texts
from tests.surface.runtimes import RUNTIMES

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]
FERRY = b"# Ferries\n\nThe ferry to Sardinia leaves Livorno at eight.\n"
REPORT = "Sardinia by ferry cost 412 euros in May.\n\n"


@pytest.fixture(autouse=True)
def filled(app: App) -> None:
    app.documents.parts.library.add(LOCAL, "trips/ferries.md", FERRY)
    app.documents.parts.library.add(LOCAL, "trips/trains.md", b"# Trains\n\nNight trains run to Vienna.\n")
    app.files.add(LOCAL, "costs.txt", REPORT.encode(), wait=60)


async def asked(connect: Connect, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer: one text, which is the structured content as JSON."""
    async with connect("search") as client:
        result = await client.call_tool(tool, arguments)
    assert not result.is_error, texts(result)
    [text] = texts(result)
    assert json.loads(text) == structured(result)
    return structured(result)


async def test_the_endpoint_has_these_two_tools_and_nothing_else(connect: Connect) -> None:
    async with connect("search") as client:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == ["fetch", "search"]
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed)
        assert (await client.call_tool("write_document", {"path": "a.md", "content": "a"})).is_error


async def test_a_search_finds_documents_and_files_in_the_documented_shape(connect: Connect) -> None:
    answer = await asked(connect, "search", query="ferry to Sardinia")
    assert set(answer) == {"results"}
    assert all(set(one) == {"id", "title", "url"} for one in answer["results"])
    assert {one["title"] for one in answer["results"]} == {"Ferries", "costs.txt, line 1"}


async def test_each_result_can_be_fetched_by_its_id(connect: Connect) -> None:
    for one in (await asked(connect, "search", query="ferry to Sardinia"))["results"]:
        read = await asked(connect, "fetch", id=one["id"])
        assert set(read) == {"id", "title", "text", "url", "metadata"}
        assert (read["id"], read["url"]) == (one["id"], one["url"])
        assert "Sardinia" in read["text"]
        assert all(isinstance(value, str) for value in read["metadata"].values())


async def test_a_question_about_nothing_that_is_there_has_no_results(connect: Connect) -> None:
    assert await asked(connect, "search", query="zzzqqq") == {"results": []}


async def test_the_page_of_a_result_is_one_of_loci(app: App, connect: Connect) -> None:
    urls = {
        one["title"]: urlsplit(str(one["url"])) for one in (await asked(connect, "search", query="ferry"))["results"]
    }
    assert (urls["Ferries"].path, unquote(urls["Ferries"].fragment)) == ("/ui/search", "doc/trips-ferries")
    file = urls["costs.txt, line 1"]
    assert (file.path, file.fragment) == ("/ui/files", f"{app.files.listed(LOCAL)[0].id}~0")
    assert all(f"{one.scheme}://{one.netloc}" == app.settings.base_url for one in urls.values())


async def test_a_long_document_is_read_to_its_end(app: App, connect: Connect) -> None:
    longest = max(vault_notes(), key=lambda note: len(note.content))
    whole = longest.content.decode() * 3
    app.documents.parts.library.add(LOCAL, "long.md", whole.encode())
    parts = [part async for part in _parts(connect, "document:long")]
    assert "".join(part["text"] for part in parts) == whole
    assert len(parts) > 2
    assert {part["url"] for part in parts} == {f"{app.settings.base_url}/ui/search#doc/long"}


async def test_a_long_file_is_read_to_its_end(app: App, connect: Connect) -> None:
    lines = "".join(f"Line {number} of a long report about the harbour of Livorno.\n" for number in range(3000))
    file = app.files.add(LOCAL, "report.txt", lines.encode(), wait=60)
    parts = [part async for part in _parts(connect, f"file:{file.id}")]
    text = "\n".join(part["text"] for part in parts)
    places = [text.find(f"Line {number} of") for number in range(3000)]
    assert -1 not in places
    assert all(one < other for one, other in pairwise(places))
    assert len(parts) > 2


@each("id", ["x", "document:", "document:nothing", "file:ds-00", "file:ds-00~1@2", "document:a~1", "file:\0", "🦊"])
async def test_an_id_that_names_nothing_is_an_error_that_says_what_to_do(connect: Connect, id: str) -> None:
    async with connect("search") as client:
        result = await client.call_tool("fetch", {"id": id})
    assert result.is_error
    assert texts(result)[0].partition(":")[0] in ("ID_NOT_FOUND", "NODE_NOT_FOUND", "MEMORY_NOT_FOUND")


async def test_an_id_past_the_end_says_where_to_begin(app: App, connect: Connect) -> None:
    [file] = app.files.listed(LOCAL)
    for start, end in (("document:trips-ferries", f"@{len(FERRY)}"), (f"file:{file.id}", "~1")):
        async with connect("search") as client:
            result = await client.call_tool("fetch", {"id": start + end})
        assert result.is_error
        assert texts(result)[0].startswith("ID_NOT_FOUND")
        assert f"Fetch '{start}'" in texts(result)[0]


async def test_they_are_not_beside_all_tools(connect: Connect) -> None:
    async with connect() as client:
        assert not {"search", "fetch"} & {tool.name for tool in (await client.list_tools()).tools}


async def _parts(connect: Connect, id: str | None) -> AsyncGenerator[dict[str, Any]]:
    while id is not None:
        part = await asked(connect, "fetch", id=id)
        yield part
        id = part["metadata"].get("next")
