"""The fields of `parsed_query`: their types, and that each moves the ranking."""

from typing import Any

import pytest

from loci.app import App
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.files.searches import add, names, search

pytestmark = pytest.mark.anyio
NOISE = ("的", "了", "吗", "呢", "是", "在", "有", "和", "与", "或", "什么", "怎么", "如何", "为什么", "哪里", "哪个")


@pytest.fixture
async def fields(connect: Connect) -> dict[str, Any]:
    """The schemas of the five fields, as clients see them."""
    async with connect("files") as client:
        [tool] = [one for one in (await client.list_tools()).tools if one.name == "search_memory"]
    return tool.input_schema["properties"]["parsed_query"]["anyOf"][0]["properties"]


async def test_the_five_fields_are_texts_and_lists_of_texts(fields: dict[str, Any]) -> None:
    assert {name: one["type"] for name, one in fields.items()} == {
        "bm25_cleaned_query": "string",
        "named_entities": "array",
        "bm25_keywords": "array",
        "bm25_boost_keywords": "array",
        "rewritten_query_for_dense_model": "string",
    }
    assert {one["items"]["type"] for one in fields.values() if "items" in one} == {"string"}


async def test_all_five_fields_make_one_question(connect: Connect, app: App) -> None:
    add(app, "boat.txt", "The boat to Hamburg leaves at noon")
    answer = await search(
        connect,
        {
            "bm25_cleaned_query": "boat leaves",
            "named_entities": ["Hamburg"],
            "bm25_keywords": ["boat", "Hamburg"],
            "bm25_boost_keywords": ["Hamburg"],
            "rewritten_query_for_dense_model": "When does the ship to Hamburg depart?",
        },
    )
    assert (names(answer), answer["match"]) == (["boat.txt"], "strong")


async def test_an_entity_among_the_boosts_outweighs_two_other_words(connect: Connect, app: App) -> None:
    add(app, "boat.txt", "The boat leaves the harbour at night")
    add(app, "city.txt", "Hamburg is a city in the north with bridges")
    query: dict[str, object] = {"bm25_cleaned_query": "hamburg boat harbour"}
    assert names(await search(connect, query))[0] == "boat.txt"
    query |= {"named_entities": ["Hamburg"], "bm25_boost_keywords": ["Hamburg"]}
    assert names(await search(connect, query))[0] == "city.txt"


@each("word", NOISE)
async def test_chinese_stop_words_and_question_words_change_nothing(connect: Connect, app: App, word: str) -> None:
    add(app, "a.txt", "航班延误因为大雾")
    add(app, "b.txt", f"大雾{word}城市")
    plain = await search(connect, "航班 延误")
    assert names(plain) == ["a.txt"]
    assert await search(connect, f"航班{word}延误") == plain


@each("word", ["和平", "目的地", "了解", "存在"])
async def test_a_chinese_word_with_such_a_character_in_it_is_found(connect: Connect, app: App, word: str) -> None:
    add(app, "a.txt", f"大家都知道{word}很重要")
    add(app, "b.txt", "航班延误因为大雾")
    assert names(await search(connect, word)) == ["a.txt"]
