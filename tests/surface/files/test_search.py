"""`search_memory`: what it finds, what it shows, where it looks, and what it says if there is nothing."""

import base64
import contextlib
from pathlib import Path
from typing import Any

import pytest
from mcp_types import BlobResourceContents, EmbeddedResource, ImageContent

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.stores import RecordPage, RecordStore
from loci.mcp.answers import SEARCH_TOKENS
from loci.search.inference import tokens_at_most
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.files.conftest import on_vectors_too
from tests.surface.files.searches import add, names, search
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio
PNG = b"\x89PNG\r\n\x1a\n and no more"


# The question


async def test_the_cleaned_query_finds_by_its_words(connect: Connect, app: App) -> None:
    add(app, "train.txt", "The train to Berlin leaves at noon")
    add(app, "boat.txt", "The boat to Hamburg leaves at noon")
    assert names(await search(connect, {"bm25_cleaned_query": "boat noon"})) == ["boat.txt", "train.txt"]
    assert names(await search(connect, {"bm25_cleaned_query": "train noon"})) == ["train.txt", "boat.txt"]


async def test_keywords_find_by_words_that_the_cleaned_query_lacks(connect: Connect, app: App) -> None:
    add(app, "boat.txt", "The boat to Hamburg leaves at noon")
    add(app, "train.txt", "The train to Berlin leaves at noon")
    query = {"bm25_cleaned_query": "leaves noon"}
    for word, first in (("boat", "boat.txt"), ("train", "train.txt")):
        assert names(await search(connect, query | {"bm25_keywords": [word]}))[0] == first


@each("field", ["named_entities", "bm25_boost_keywords"])
async def test_entities_and_boosts_weigh_more_than_other_words(connect: Connect, app: App, field: str) -> None:
    add(app, "boat.txt", "The boat to Hamburg")
    add(app, "train.txt", "The train to Berlin")
    for word, first in (("Hamburg", "boat.txt"), ("Berlin", "train.txt")):
        query = {"bm25_cleaned_query": "hamburg berlin", field: [word]}
        assert names(await search(connect, query))[0] == first


async def test_a_plain_question_and_any_one_field_are_enough(connect: Connect, app: App) -> None:
    add(app, "boat.txt", "The boat to Hamburg leaves at noon")
    for query in (
        "when does the boat leave?",
        {"rewritten_query_for_dense_model": "when does the boat leave?"},
        {"named_entities": ["Hamburg"]},
        {"bm25_keywords": ["boat"]},
        {"bm25_boost_keywords": ["boat"]},
    ):
        assert names(await search(connect, query)) == ["boat.txt"], query


async def test_an_empty_question_is_refused_with_advice(connect: Connect) -> None:
    async with connect("files") as client:
        for query in ("  ", {}, {"bm25_cleaned_query": "", "named_entities": [""]}):
            answer = await client.call_tool("search_memory", {"parsed_query": query})
            assert answer.is_error
            assert texts(answer)[0].startswith("EMPTY_QUERY")


async def test_chinese_question_words_do_not_find(connect: Connect, app: App) -> None:
    add(app, "a.txt", "这个公司为什么成功")
    add(app, "b.txt", "航班延误是因为大雾")
    assert names(await search(connect, "航班为什么延误了"))[0] == "b.txt"


async def test_hyphens_underscores_and_dots_keep_a_word_together(connect: Connect, app: App) -> None:
    add(app, "a.txt", "set retry.max-attempts in run_config")
    add(app, "b.txt", "set the max of attempts to retry; run it, and config it")
    for word in ("retry.max-attempts", "run_config"):
        assert names(await search(connect, {"bm25_cleaned_query": word}))[0] == "a.txt"


# What is shown


async def test_the_lines_are_those_of_the_shown_text(connect: Connect, app: App) -> None:
    lines = [f"Line {number} tells of nothing in particular." for number in range(1, 30)]
    lines[20] = "The walrus sleeps on the 21st line."
    add(app, "long.txt", "\n".join(lines))
    [passage, *_] = (await search(connect, "where does the walrus sleep"))["results"][0]["passages"]
    first, last = passage["locator"]["lines"]
    assert passage["text"].strip("…") in "\n".join(lines[first - 1 : last])
    assert passage["text"].strip("…").count("\n") == last - first
    assert first <= 21 <= last
    assert len(passage["text"]) <= 400


async def test_a_file_with_many_fitting_passages_leaves_others_their_place(connect: Connect, app: App) -> None:
    long = "\n\n".join(f"# Part {number}\nThe walrus sleeps, and the walrus eats fish." for number in range(200))
    add(app, "long.md", long)
    for number in range(5):
        add(app, f"short{number}.txt", f"In the zoo of town {number} one walrus is kept beside birds, cats and others")
    answer = await search(connect, "walrus")
    assert sorted(names(answer)) == ["long.md", *(f"short{number}.txt" for number in range(5))]
    [found] = [one for one in answer["results"] if one["name"] == "long.md"]
    assert len(found["passages"]) == 3


async def test_the_answer_keeps_to_its_budget_and_to_its_files(connect: Connect, app: App) -> None:
    for number in range(9):
        parts = (f"# Part {part}\n{'The walrus sleeps on a stone. ' * 12}" for part in range(4))
        add(app, f"{number}.md", "\n\n".join(parts))
    async with connect("files") as client:
        arguments = {"parsed_query": "walrus stone", "max_tokens": 1500}
        answer = await client.call_tool("search_memory", arguments)
    result = structured(answer)["result"]
    assert (result["n"], len(result["results"])) == (9, 9)
    assert result["passages_left_out"] > 0
    assert result["results"][0]["passages"]
    assert len(texts(answer)[0]) <= 4 * 1500


async def test_the_names_of_further_files_are_within_the_room_of_the_answer(connect: Connect, app: App) -> None:
    animals = ("walrus", "heron", "otter", "badger", "lynx", "marten")
    for size, animal in enumerate(animals):
        for number in range(10):
            text = f"{animal} " * (12 - number) + "It is older than the pier, and nobody moved it. " * (2 + size)
            add(app, f"{animal} {number}.txt" if number < 5 else f"{'survey of a bay ' * 9}{animal} {number}.txt", text)
    async with connect("files") as client:
        for animal in animals:
            answer = await client.call_tool("search_memory", {"parsed_query": animal, "limit": 10})
            assert tokens_at_most(texts(answer)[0]) <= SEARCH_TOKENS


async def test_the_text_of_the_answer_has_the_passage_where_it_stands_and_how_surely_it_fits(
    connect: Connect, app: App
) -> None:
    add(app, "boat.txt", "The boat to Hamburg leaves at noon")
    async with connect("files") as client:
        answer = await client.call_tool("search_memory", {"parsed_query": "boat"})
    [row] = structured(answer)["result"]["results"]
    assert texts(answer) == [f"**boat.txt** ({row['id']}, strong)\nline 1:\n> The boat to Hamburg leaves at noon"]


# Where it looks


async def test_the_scope_is_several_files_and_is_said_again(connect: Connect, app: App) -> None:
    a, b, _ = (add(app, f"{name}.txt", f"The walrus of {name}") for name in "abc")
    answer = await search(connect, "walrus", memory_ids=[a, b, "ds-0"])
    assert sorted(names(answer)) == ["a.txt", "b.txt"]
    assert answer["scope"] == {"memory_ids": [a, b, "ds-0"], "unknown_ids": ["ds-0"], "says": "2 of 3 named files"}


@on_vectors_too
async def test_when_it_was_added_limits_a_search(connect: Connect, app: App) -> None:
    add(app, "a.txt", "walrus")
    assert names(await search(connect, "walrus", added_since="2020-01-01", added_until="2999-01-01")) == ["a.txt"]
    for when in ({"added_since": "2999-01-01"}, {"added_until": "2020-01-01"}, {"as_of": "2020-01-01T00:00:00Z"}):
        answer = await search(connect, "walrus", **when)
        assert (answer["status"], answer["results"]) == ("empty", [])
        assert "Search without conditions" in answer["reason"]
    assert names(await search(connect, "walrus", as_of="2999-01-01")) == ["a.txt"]
    async with connect("files") as client:
        refused = await client.call_tool("search_memory", {"parsed_query": "walrus", "as_of": "yesterday"})
    assert texts(refused)[0].startswith("BAD_TIME")


# Nothing


async def test_an_empty_lake_says_how_to_add_a_file(connect: Connect) -> None:
    answer = await search(connect, "walrus")
    assert (answer["status"], answer["match"], answer["n"]) == ("empty", "none", 0)
    assert "add_memory" in answer["reason"]


async def test_nothing_about_it_is_an_answer_with_a_next_step(connect: Connect, app: App) -> None:
    add(app, "boat.txt", "The boat to Hamburg leaves at noon")
    answer = await search(connect, "photosynthesis of algae")
    assert (answer["status"], answer["match"], answer["results"]) == ("empty", "none", [])
    assert "other words" in answer["reason"]


async def test_a_question_that_shares_only_one_word_is_no_match(connect: Connect, app: App) -> None:
    add(app, "boat.txt", "The boat to Hamburg leaves at noon")
    for number in range(9):
        add(app, f"{number}.txt", f"Recipe {number} is for soup with onions and garlic")
    answer = await search(connect, "does insurance cover theft of a boat kept abroad by foreign owners?")
    assert names(answer) == ["boat.txt"]
    assert (answer["match"], answer["results"][0]["match"]) == ("none", "none")


async def test_files_that_are_not_read_yet_are_no_empty_answer(connect: Connect, app: App) -> None:
    app.files.parts.lake.add(LOCAL, "big.txt", b"walrus")
    answer = await search(connect, "walrus")
    assert (answer["status"], answer["results"]) == ("indexing", [])
    assert "big.txt" in answer["reason"]


async def test_unknown_files_are_named(connect: Connect, app: App) -> None:
    add(app, "boat.txt", "The boat to Hamburg leaves at noon")
    answer = await search(connect, "boat", memory_ids=["ds-unknown"])
    assert answer["status"] == "empty"
    assert "ds-unknown" in answer["reason"]


async def test_a_folder_limits_a_search_and_one_that_is_not_there_is_told(connect: Connect, app: App) -> None:
    for year in (2022, 2023):
        add(app, f"reports/{year}/fees.md", f"The fees of {year} for a boat are {year} euros.")
    asked = "fees for a boat"
    found = await search(connect, asked, folder="2023")
    assert [one["path"] for one in found["results"]] == ["reports/2023/fees.md"]
    assert found["scope"]["folder"] == "2023"
    assert "memory_ids" not in found["scope"]
    assert len((await search(connect, asked, folder="reports"))["results"]) == 2
    nowhere = await search(connect, asked, folder="2024")
    assert (nowhere["status"], nowhere["results"]) == ("empty", [])
    assert "The folders are reports/2022, reports/2023" in nowhere["reason"]


async def test_a_file_that_fits_by_its_name_and_could_not_be_read_is_named(connect: Connect, app: App) -> None:
    add(app, "fees.md", "The harbour fees of 2022 are low.")
    id = app.files.add(LOCAL, "harbour_fees-2023.pdf", b"%PDF-1.7 no more").id
    found = await search(connect, "What are the harbour fees in 2023?")
    assert [(one["id"], one["name"]) for one in found["unread"]] == [(id, "harbour_fees-2023.pdf")]
    assert "harbour_fees-2023.pdf could not be read: The PDF is damaged" in found["reason"]
    assert found["status"] == "ok"
    assert "unread" not in await search(connect, "low tide")
    assert [one["id"] for one in (await search(connect, "low tide", memory_ids=[id]))["unread"]] == [id]


# Fetching


async def test_fetching_tells_the_facts_of_those_that_exist(connect: Connect, app: App) -> None:
    id = add(app, "boat.txt", "The boat to Hamburg leaves at noon")
    async with connect("files") as client:
        answer = structured(await client.call_tool("fetch_memory", {"memory_ids": [id, "ds-unknown", id]}))
    assert list(answer) == [id, "ds-unknown"]
    fields = ("id", "name", "source_type", "presigned_url", "status", "version")
    assert tuple(answer[id][one] for one in fields) == (id, "boat.txt", "txt_file", None, "okay", 1)
    assert answer[id]["summary"].startswith("The boat")
    assert [one["version"] for one in answer[id]["history"]] == [1]
    unknown = answer["ds-unknown"]
    assert (unknown["status"], unknown["name"], unknown["presigned_url"]) == ("unknown", None, None)


async def test_a_client_of_this_machine_gets_a_copy_that_it_may_read_and_the_bytes_if_it_asks(
    connect: Connect, app: App
) -> None:
    id, other = add(app, "boat.txt", "The boat to Hamburg"), app.files.add(LOCAL, "logo.png", PNG).id
    async with connect("files") as client:
        answer = await client.call_tool("fetch_memory", {"memory_ids": [id, other], "content": True})
        path = Path(structured(answer)[id]["local_path"])
        assert (path.name, path.read_text()) == ("boat.txt", "The boat to Hamburg")
        path.write_text("scribbled on")
        _, file, picture = answer.content
        assert isinstance(file, EmbeddedResource)
        assert isinstance(file.resource, BlobResourceContents)
        assert base64.b64decode(file.resource.blob) == b"The boat to Hamburg"
        assert isinstance(picture, ImageContent)
        assert base64.b64decode(picture.data) == PNG
        plain = await client.call_tool("fetch_memory", {"memory_ids": [id]})
        assert len(plain.content) == 1
        assert app.files.read(LOCAL, id).content == b"The boat to Hamburg"
        await client.call_tool("delete_memory", {"memory_ids": [id]})
        assert not path.exists()
    app.close()
    assert not path.parents[2].exists()


@on_vectors_too
async def test_all_files_are_read_again_only_after_a_change_in_any_process(
    app: App, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(app, "fares/kos.md", "The ferry to Kos costs 12 euros.")
    assert names(await search(connect, "ferry")) == ["kos.md"]
    read, listed = type(app.records).list, list[str]()

    def counted(self: RecordStore, owner: Owner, kind: str, **more: Any) -> RecordPage:
        listed.append(kind)
        return read(self, owner, kind, **more)

    monkeypatch.setattr(type(app.records), "list", counted)
    assert names(await search(connect, "ferry")) == ["kos.md"]
    assert names(await search(connect, "ferry", folder="fares")) == ["kos.md"]
    assert (await search(connect, "volcano"))["status"] == "empty"
    assert "file" not in listed
    with contextlib.closing(build_app(app.settings)) as other:
        other.files.parts.lake.add(LOCAL, "waits.md", b"The ferry to Rhodes.")
    assert (await search(connect, "ferry"))["status"] == "indexing"
    assert listed.count("file") == 1
