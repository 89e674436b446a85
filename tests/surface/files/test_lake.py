"""Files through the tools: added, found, fetched, removed."""

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.surface.conftest import Connect
from tests.surface.files.conftest import on_s3_too
from tests.surface.results import structured

pytestmark = pytest.mark.anyio
NOTES = "# Trip\nThe train to Berlin costs 40 euros.\n\n## Next\nAnn buys the tickets.\n"


@on_s3_too
async def test_a_text_is_found_in_the_same_turn_with_its_lines(connect: Connect) -> None:
    async with connect("files") as client:
        [added] = structured(await client.call_tool("add_memory", {"name": "trip.md", "text": NOTES}))["result"]
        assert (added["status"], added["version"], added["num_chunks"]) == ("okay", 1, 2)
        answer = structured(await client.call_tool("search_memory", {"parsed_query": "who buys the tickets"}))["result"]
        assert (answer["status"], answer["n"]) == ("ok", 1)
        [result] = answer["results"]
        assert (result["id"], result["name"]) == (added["id"], "trip.md")
        assert result["passages"][0]["locator"]["lines"] == [5, 5]
        assert result["passages"][0]["text"] == "Ann buys the tickets."


async def test_the_overview_counts_files_by_the_types_of_the_reference(connect: Connect) -> None:
    async with connect("files") as client:
        await client.call_tool("add_memory", {"name": "trip.md", "text": NOTES})
        overview = structured(await client.call_tool("get_memorylake_metadata", {}))["result"]
    assert overview["total_files"] == overview["total_txt_files"] == 1
    assert overview["total_excel_files"] == overview["total_pdf_files"] == 0
    [sample] = overview["sample_memories"]
    assert (sample["name"], sample["type"], sample["format"]) == ("trip.md", "txt_file", "md")


@on_s3_too
async def test_a_removed_file_is_gone_everywhere(connect: Connect, app: App) -> None:
    async with connect("files") as client:
        [added] = structured(await client.call_tool("add_memory", {"name": "trip.md", "text": NOTES}))["result"]
        await client.call_tool("delete_memory", {"memory_ids": [added["id"]]})
        answer = structured(await client.call_tool("search_memory", {"parsed_query": "tickets"}))["result"]
        assert (answer["results"], answer["n"], answer["match"]) == ([], 0, "none")
        fetched = await client.call_tool("fetch_memory", {"memory_ids": [added["id"]]})
    assert fetched.is_error
    assert not list(app.files.parts.lake.files(LOCAL))
