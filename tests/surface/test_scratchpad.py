"""The scratchpad's tools, on both runtimes."""

import json
import re

import pytest
from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.background import BackgroundQueue
from loci.core.errors import NotFound
from loci.core.identity import LOCAL, Owner
from loci.mcp.server import build_server
from loci.scratchpad.api import Scratchpad
from tests.support.each import each
from tests.surface.conftest import Connect, on_both
from tests.surface.results import error_of, structured, texts

pytestmark = pytest.mark.anyio
TEXT = 'Grüße, 世界 🌍\n{"quoted": "\\"yes\\""}\n' * 50


@on_both
async def test_a_kept_result_is_read_back_exactly(app: App, connect: Connect) -> None:
    entry = app.scratchpad.keep(LOCAL, "search_documents", TEXT)
    async with connect() as client:
        result = await client.call_tool("scratchpad_read", {"id": entry.id})
    assert texts(result) == [TEXT]
    assert structured(result)["result"] == TEXT


async def test_an_id_has_twelve_characters(app: App) -> None:
    assert re.fullmatch(r"[0-9a-f]{12}", app.scratchpad.keep(LOCAL, "search_documents", TEXT).id)


async def test_the_same_result_is_kept_once(app: App) -> None:
    first, second = (app.scratchpad.keep(LOCAL, "search_documents", TEXT) for _ in range(2))
    assert first.id == second.id
    assert len(app.scratchpad.list(LOCAL)) == 1


async def test_an_unknown_id_is_an_error_that_says_what_to_do(connect: Connect) -> None:
    async with connect() as client:
        result = await client.call_tool("scratchpad_read", {"id": "abc123"})
    assert result.is_error
    assert texts(result) == [
        "SCRATCHPAD_NOT_FOUND: Scratchpad entry not found: abc123. Use scratchpad_list() to find valid entries."
    ]
    assert error_of(result)["code"] == "SCRATCHPAD_NOT_FOUND"


@each("id", ["", "../../../secret", "a" * 2000, "ABCDEF012345", "0123456789a\x00", "é" * 12])
async def test_an_id_of_no_entry_reaches_nothing(connect: Connect, id: str) -> None:
    async with connect() as client:
        result = await client.call_tool("scratchpad_read", {"id": id})
    assert error_of(result)["code"] == "SCRATCHPAD_NOT_FOUND"


async def test_a_range_is_counted_in_characters(app: App, connect: Connect) -> None:
    entry = app.scratchpad.keep(LOCAL, "x", "äöü🌍abcdef")
    async with connect() as client:
        result = await client.call_tool("scratchpad_read", {"id": entry.id, "offset": 2, "limit": 3})
    assert structured(result) == {"result": "ü🌍a", "offset": 2, "total": 10, "next_offset": 5}


async def test_pieces_put_together_are_the_whole(app: App, connect: Connect) -> None:
    entry = app.scratchpad.keep(LOCAL, "x", TEXT)
    whole, offset = "", 0
    async with connect() as client:
        while offset is not None:
            piece = structured(
                await client.call_tool("scratchpad_read", {"id": entry.id, "offset": offset, "limit": 333})
            )
            whole, offset = whole + piece["result"], piece["next_offset"]
    assert whole == TEXT


async def test_behind_the_end_there_is_an_empty_piece(app: App, connect: Connect) -> None:
    entry = app.scratchpad.keep(LOCAL, "x", "abc")
    async with connect() as client:
        result = await client.call_tool("scratchpad_read", {"id": entry.id, "offset": 99})
    assert structured(result) == {"result": "", "offset": 3, "total": 3, "next_offset": None}


@each("arguments", [{"offset": -1}, {"limit": -1}, {"limit": "many"}, {"offset": 1.5}])
async def test_a_senseless_range_is_refused(app: App, connect: Connect, arguments: dict[str, object]) -> None:
    entry = app.scratchpad.keep(LOCAL, "x", "abc")
    async with connect() as client:
        result = await client.call_tool("scratchpad_read", {"id": entry.id, **arguments})
    assert error_of(result)["code"] == "INVALID_PARAMS"


@each("unit", ["x", '"', "\x01", "世"])
async def test_a_piece_fits_into_a_lambda_answer_and_says_where_to_read_on(
    app: App, connect: Connect, unit: str
) -> None:
    entry = app.scratchpad.keep(LOCAL, "x", unit * 3_000_000)
    async with connect() as client:
        result = await client.call_tool("scratchpad_read", {"id": entry.id})
    body = result.model_dump_json(by_alias=True)
    assert len(json.dumps(body, ensure_ascii=False).encode()) < 6_000_000
    following = structured(result)["next_offset"]
    assert len(texts(result)[0].encode()) <= 2_000_000
    assert f"offset={following}" in texts(result)[1]


async def test_the_list_has_the_fields_of_the_reference(app: App, connect: Connect) -> None:
    entry = app.scratchpad.keep(LOCAL, "search_documents", "hällo", about="greetings")
    async with connect() as client:
        listing = structured(await client.call_tool("scratchpad_list", {}))
    assert listing["entries"] == [
        {
            "id": entry.id,
            "tool": "search_documents",
            "about": "greetings",
            "size_bytes": 6,
            "timestamp": entry.timestamp,
        }
    ]
    assert listing["stats"] == {"total_entries": 1, "total_size_bytes": 6, "max_size_bytes": 10_485_760}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", entry.timestamp)


async def test_the_text_of_the_list_is_the_same_object_as_json(connect: Connect) -> None:
    async with connect() as client:
        result = await client.call_tool("scratchpad_list", {})
    assert json.loads(texts(result)[0]) == structured(result)


async def test_an_empty_scratchpad_lists_nothing(connect: Connect) -> None:
    async with connect() as client:
        listing = structured(await client.call_tool("scratchpad_list", {}))
    assert listing["entries"] == []
    assert listing["stats"]["total_entries"] == 0


@on_both
async def test_another_owners_entries_do_not_exist(app: App, connect: Connect) -> None:
    entry = app.scratchpad.keep(Owner("other", "owner"), "x", "secret")
    async with connect() as client:
        read = await client.call_tool("scratchpad_read", {"id": entry.id})
        listing = structured(await client.call_tool("scratchpad_list", {}))
    assert error_of(read)["code"] == "SCRATCHPAD_NOT_FOUND"
    assert listing["entries"] == []


@on_both
async def test_the_least_recently_used_entry_makes_room(app: App) -> None:
    ticks = iter(range(1, 1000))
    pad = Scratchpad(app.records, app.blobs, lambda: float(next(ticks)), capacity=320)
    first, second, third = (pad.keep(LOCAL, "x", letter * 100).id for letter in "abc")
    pad.read(LOCAL, first)
    fourth = pad.keep(LOCAL, "x", "d" * 100).id
    assert {entry.id for entry in pad.list(LOCAL)} == {first, third, fourth}
    assert not app.blobs.list(LOCAL, f"scratchpad/{second}")
    assert len(app.blobs.list(LOCAL)) == 3


async def test_what_was_just_kept_stays_even_if_it_is_larger_than_the_room(app: App) -> None:
    pad = Scratchpad(app.records, app.blobs, lambda: 1.0, capacity=300)
    pad.keep(LOCAL, "x", "small")
    large = pad.keep(LOCAL, "x", "y" * 5000)
    assert [entry.id for entry in pad.list(LOCAL)] == [large.id]
    assert pad.read(LOCAL, large.id).text == "y" * 5000


@on_both
async def test_room_is_made_behind_the_answer_and_never_of_what_was_just_kept(app: App) -> None:
    later, ticks = BackgroundQueue(3600), iter(range(1, 1000))
    pad = Scratchpad(app.records, app.blobs, lambda: float(next(ticks)), capacity=300, later=later)
    old = [pad.keep(LOCAL, "x", letter * 100).id for letter in "abc"]
    pad.close()
    again = pad.keep(LOCAL, "x", "a" * 100).id
    large = [pad.keep(LOCAL, "x", letter * 400).id for letter in "de"]
    assert {one.id for one in pad.list(LOCAL)} == {*old, *large}
    pad.close()
    assert {one.id for one in pad.list(LOCAL)} == {again, *large}
    assert len(app.blobs.list(LOCAL, "scratchpad/")) == 3


async def test_reading_needs_an_id(connect: Connect) -> None:
    async with connect() as client:
        result = await client.call_tool("scratchpad_read", {})
    assert texts(result)[0].startswith("INVALID_PARAMS: id: Field required")


@on_both
async def test_an_entry_outlives_a_restart(app: App) -> None:
    entry = app.scratchpad.keep(LOCAL, "x", "kept")
    restarted = build_app(app.settings)
    async with Client(build_server(restarted)) as client:
        assert texts(await client.call_tool("scratchpad_read", {"id": entry.id})) == ["kept"]


async def test_an_evicted_entry_is_not_found(app: App, connect: Connect) -> None:
    pad = Scratchpad(app.records, app.blobs, lambda: 1.0, capacity=5)
    first, _ = pad.keep(LOCAL, "x", "first"), pad.keep(LOCAL, "x", "second")
    async with connect() as client:
        result = await client.call_tool("scratchpad_read", {"id": first.id})
    assert error_of(result)["code"] == "SCRATCHPAD_NOT_FOUND"


async def test_the_newest_entry_comes_first_and_the_sums_are_of_all(app: App, connect: Connect) -> None:
    ticks = iter(range(1, 10_000))
    pad = Scratchpad(app.records, app.blobs, lambda: 1_700_000_000 + next(ticks) / 1000)
    entries = [pad.keep(LOCAL, f"tool_{n}", "x" * n) for n in (30, 10, 20)]
    async with connect() as client:
        listing = structured(await client.call_tool("scratchpad_list", {}))
    assert [one["id"] for one in listing["entries"]] == [entry.id for entry in reversed(entries)]
    assert listing["stats"] == {"total_entries": 3, "total_size_bytes": 60, "max_size_bytes": 10_485_760}


async def test_every_entry_is_listed_however_many_there_are(app: App, connect: Connect) -> None:
    kept = {app.scratchpad.keep(LOCAL, "x", str(n)).id for n in range(130)}
    async with connect() as client:
        first = structured(await client.call_tool("scratchpad_list", {"limit": 1000}))
        second = structured(await client.call_tool("scratchpad_list", {"limit": 1000}))
    assert {one["id"] for one in first["entries"]} == kept
    assert second == first


async def test_a_promised_entry_says_that_it_is_still_to_come(app: App, connect: Connect) -> None:
    id = app.scratchpad.promise(LOCAL, "x", 60)
    async with connect() as client:
        early = await client.call_tool("scratchpad_read", {"id": id})
        app.scratchpad.keep(LOCAL, "x", "here it is", id=id)
        late = await client.call_tool("scratchpad_read", {"id": id})
    assert error_of(early)["code"] == "STILL_RUNNING"
    assert texts(late) == ["here it is"]


@on_both
async def test_a_promise_that_was_not_kept_is_told_as_such(app: App, connect: Connect) -> None:
    id = app.scratchpad.promise(LOCAL, "x", -1)
    async with connect() as client:
        assert error_of(await client.call_tool("scratchpad_read", {"id": id}))["code"] == "RUN_LOST"


async def test_a_kept_promise_that_made_room_is_gone_like_any_entry(app: App) -> None:
    pad = Scratchpad(app.records, app.blobs, lambda: 4e9, capacity=5)
    id = pad.keep(LOCAL, "x", "first", id=pad.promise(LOCAL, "x", 60)).id
    pad.keep(LOCAL, "x", "second")
    with pytest.raises(NotFound) as gone:
        pad.read(LOCAL, id)
    assert gone.value.code == "SCRATCHPAD_NOT_FOUND"
