"""Arguments that no careful client sends: each call ends with an answer or with an error that says what to do."""

from typing import Any

import pytest

from loci.app import App
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.files.searches import add, names, search
from tests.surface.results import error_of, texts
from tests.surface.runtimes import RUNTIMES

pytestmark = pytest.mark.anyio
ODD_IDS = ["", "\0", "ds-\0", "x" * 5000, "../..", "ds-%", "é" * 400, "a/b", "\u202eds"]
OUTSIDE_TIME = ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "2026-13-01", "now", "\0"]
ODD_TEXTS = ["\0", "x" * 100_000, "costs OR (", '"', "NEAR(", "*", "' OR 1=1 --", "的", "?!"]


async def failed(connect: Connect, tool: str, **arguments: object) -> str:
    """The code of the error that the call ends with."""
    async with connect("files") as client:
        answer = await client.call_tool(tool, arguments)
    assert answer.is_error, texts(answer)
    error: dict[str, Any] = error_of(answer)
    assert error["message"]
    assert error["resolution"]
    return error["code"]


async def test_an_id_of_no_file_is_told_by_every_tool(connect: Connect) -> None:
    for id in ODD_IDS:
        for tool in ("ingestion_status", "delete_memory", "fetch_memory"):
            assert await failed(connect, tool, memory_ids=[id]) == "MEMORY_NOT_FOUND"
        for tool in ("diff_versions", "query_table"):
            assert await failed(connect, tool, memory_id=id) == "MEMORY_NOT_FOUND"
        cited = await failed(connect, "verify_citation", chunk_id=f"{id}#0", text="40")
        assert cited == ("INVALID_PARAMS" if len(id) > 80 else "PASSAGE_NOT_FOUND")
        found = await search(connect, "costs", memory_ids=[id])
        assert (found["status"], found["scope"]["unknown_ids"]) == ("empty", [id[:80]])


async def test_a_time_outside_the_calendar_is_told(connect: Connect) -> None:
    for time in OUTSIDE_TIME:
        for field in ("as_of", "added_since", "added_until"):
            assert await failed(connect, "search_memory", parsed_query="costs", **{field: time}) == "BAD_TIME"


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
async def test_a_question_is_words_whatever_signs_it_has(connect: Connect, app: App) -> None:
    add(app, "ferry.md", "The ferry costs 12 euros.")
    for text in ODD_TEXTS:
        for query in (text, {"bm25_keywords": [text] * 1000}, {"named_entities": [text]}, {"bm25_cleaned_query": text}):
            assert (await search(connect, query))["status"] in ("ok", "empty")


@each(
    "fields",
    [
        {"bm25_keywords": "ferry"},
        {"named_entities": "ferry", "bm25_keywords": None, "bm25_cleaned_query": None},
        {"bm25_cleaned_query": ["ferry", "costs"]},
    ],
)
async def test_a_part_of_a_question_may_be_a_text_a_list_or_null(
    connect: Connect, app: App, fields: dict[str, object]
) -> None:
    add(app, "ferry.md", "The ferry costs 12 euros.")
    add(app, "tram.md", "The tram is slow.")
    assert names(await search(connect, fields)) == ["ferry.md"]
