"""The tools of files, as a model sees them before its first call."""

import pytest
from mcp_types import Tool

from tests.support.each import each
from tests.surface.conftest import Connect

pytestmark = pytest.mark.anyio
FILES = {
    *("get_memorylake_metadata", "search_memory", "read_memory", "fetch_memory"),
    *("add_memory", "ingestion_status", "delete_memory"),
    *("diff_versions", "verify_citation"),
    *("create_memory_code_runner", "run_memory_code", "query_table", "save_artifact", "run_computation"),
    *("scratchpad_list", "scratchpad_read"),
}
UNLISTED = {"add_memory", "ingestion_status", "delete_memory", "diff_versions", "save_artifact", "run_computation"}
"""Found by `pml_search_tools`."""


async def listed(connect: Connect, *surface: str) -> dict[str, Tool]:
    async with connect(*surface) as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}


async def test_the_endpoint_of_files_lists_exactly_their_tools_with_code_and_the_scratchpad(connect: Connect) -> None:
    assert set(await listed(connect, "files")) == FILES


async def test_the_endpoint_of_everything_lists_those_that_agents_need_most(connect: Connect) -> None:
    assert FILES - set(await listed(connect)) == UNLISTED


@each(
    ("tool", "words"),
    [
        ("get_memorylake_metadata", "which files there are: how many of each type"),
        ("get_memorylake_metadata", "Use it at the start of a session"),
        ("search_memory", "Search the contents of all files"),
        ("fetch_memory", "Fetch the facts about files by their ids"),
    ],
)
async def test_a_description_says_what_the_tool_is_for(connect: Connect, tool: str, words: str) -> None:
    assert words in ((await listed(connect, "files"))[tool].description or "")


@each(
    ("field", "words"),
    [
        ("bm25_cleaned_query", ["without stop words", "punctuation", "extra spaces"]),
        ("named_entities", ["all people", "organisations", "places", "products"]),
        ("bm25_keywords", ["important words", "with all named entities"]),
        ("bm25_boost_keywords", ["3 to 5", "named entities", "distinctive"]),
        ("rewritten_query_for_dense_model", ["synonyms", "what is meant"]),
    ],
)
async def test_each_part_of_a_parsed_query_says_what_belongs_in_it(
    connect: Connect, field: str, words: list[str]
) -> None:
    schema = (await listed(connect, "files"))["search_memory"].input_schema
    said = schema["properties"]["parsed_query"]["anyOf"][0]["properties"][field]["description"]
    assert [one for one in words if one not in said] == []
