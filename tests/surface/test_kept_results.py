"""What is kept in the scratchpad, and what is said of it: only what was cut, each call once, and named."""

import json
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from loci.core.json import JsonObject
from loci.mcp.tool import LociTool, loci_tool
from loci.scratchpad import api as scratchpad
from loci.scratchpad.api import MOST_ENTRIES, Scratchpad
from tests.support.each import each
from tests.surface.conftest import Connect, on_both
from tests.surface.results import call, error_of, structured, texts, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = pytest.mark.anyio
FERRY = "The ferry to the island leaves at nine and comes back at noon. " * 15
NOTES = {
    "ferry.md": f"# Ferry\n\n{FERRY}\n",
    "short.md": "# Tram\n\nThe tram leaves at ten.\n",
    # So many that the last of them have only room for a line.
    **{
        f"pier {n}.md": "# Pier\n\n" + "This ferry waits at its pier, for an island or for the sea. " * 12
        for n in range(12)
    },
}
LONG = "A line of a long answer.\n" * 2000
on_both_indexes = pytest.mark.parametrize("app", RUNTIMES, indirect=True)


@pytest.fixture
def notes(app: App, tmp_path: Path) -> Path:
    folder = written(tmp_path / "notes", NOTES)
    take_in(app, folder)
    return folder


def tools(*, writes: bool = False) -> tuple[LociTool, ...]:
    answers = iter(f"answer {n}\n{LONG}" for n in range(100))

    def changing(subject: str, level: int = 1) -> str:
        """Say something else each time."""
        return next(answers)

    def same(subject: str, level: int = 1) -> str:
        """Say the same each time."""
        return f"{subject}\n{LONG}"

    return tuple(loci_tool(fn, title=fn.__name__, writes=writes) for fn in (changing, same))


# A search


@on_both_indexes
@pytest.mark.usefixtures("notes")
async def test_a_search_whose_passages_were_cut_is_kept_and_its_text_does_not_speak_of_it(connect: Connect) -> None:
    async with connect() as client:
        answer = await client.call_tool("search_documents", {"query": "when does the ferry leave"})
    id = structured(answer)["scratchpad_id"]
    assert len(texts(answer)) == 1
    assert id not in texts(answer)[0]
    whole = json.loads((await call(connect, "scratchpad_read", id=id))["result"])
    assert FERRY.strip() in whole["results"][0]["snippet"]


@on_both_indexes
@pytest.mark.usefixtures("notes")
async def test_a_search_that_fits_is_not_kept(app: App, connect: Connect) -> None:
    async with connect() as client:
        answer = await client.call_tool("search_documents", {"query": "when does the tram leave", "limit": 1})
    assert [row["id"] for row in structured(answer)["results"]] == ["notes-short"]
    assert len(texts(answer)) == 1
    assert "scratchpad" not in texts(answer)[0]
    assert app.scratchpad.list(LOCAL) == []


@on_both_indexes
@pytest.mark.usefixtures("notes")
async def test_equal_searches_are_one_entry_named_by_tool_and_query(connect: Connect) -> None:
    for _ in range(3):
        await call(connect, "search_documents", query="when does the ferry leave")
    found = await call(connect, "search_documents", query="island ferry")
    listed = await call(connect, "scratchpad_list")
    assert [(one["tool"], one["about"]) for one in listed["entries"]] == [
        ("search_documents", "island ferry"),
        ("search_documents", "when does the ferry leave"),
    ]
    assert listed["entries"][0]["id"] == found["scratchpad_id"]


@on_both_indexes
async def test_an_equal_search_after_a_change_takes_the_place_of_the_earlier(
    app: App, connect: Connect, notes: Path
) -> None:
    before = await call(connect, "search_documents", query="when does the ferry leave")
    (notes / "ferry.md").write_text(f"# Ferry\n\n{FERRY.replace('nine', 'eight')}\n")
    take_in(app, notes)
    after = await call(connect, "search_documents", query="when does the ferry leave")
    assert after["scratchpad_id"] == before["scratchpad_id"]
    kept = (await call(connect, "scratchpad_read", id=after["scratchpad_id"]))["result"]
    assert "leaves at eight" in kept
    assert "leaves at nine" not in kept
    assert len(app.blobs.list(LOCAL, "scratchpad/")) == 1


@pytest.mark.parametrize("app", ["embedded"], indirect=True)
async def test_a_search_without_room_for_all_is_kept_whole(app: App, connect: Connect, tmp_path: Path) -> None:
    take_in(app, written(tmp_path / "many", {f"{n}.md": f"# Ferry {n}\n\n{FERRY}" for n in range(90)}))
    async with connect() as client:
        answer = await client.call_tool("search_documents", {"query": "ferry leaves", "limit": 90})
    [entry] = app.scratchpad.list(LOCAL)
    assert structured(answer)["scratchpad_id"] == entry.id
    whole: Any = json.loads(app.scratchpad.read(LOCAL, entry.id).text)
    assert len(whole["results"]) > len(structured(answer)["results"])
    assert all(row["snippet"].endswith("noon.") for row in whole["results"])


# Other tools


async def test_equal_calls_that_only_read_are_one_entry(app: App, connect: Connect) -> None:
    extra = tools()
    async with connect(extra=extra) as client:
        for tool in ("changing", "changing", "same", "same"):
            last = structured(await client.call_tool(tool, {"level": 2, "subject": "tides"}))
        await client.call_tool("changing", {"subject": "tides", "level": 2})
        await client.call_tool("changing", {"subject": "moons"})
    kept = app.scratchpad.list(LOCAL)
    assert [(one.tool, one.about) for one in kept] == [
        ("changing", "subject=moons"),
        ("changing", "subject=tides, level=2"),
        ("same", "level=2, subject=tides"),
    ]
    assert last["scratchpad_id"] == kept[2].id
    assert app.scratchpad.read(LOCAL, kept[1].id).text.startswith("answer 2\n")
    assert len(app.blobs.list(LOCAL, "scratchpad/")) == 3


@on_both
async def test_each_result_of_a_tool_that_writes_is_kept(app: App, connect: Connect) -> None:
    async with connect(extra=tools(writes=True)) as client:
        ids = [structured(await client.call_tool("changing", {"subject": "x"}))["scratchpad_id"] for _ in range(3)]
    assert len({*ids}) == 3
    assert [app.scratchpad.read(LOCAL, id).text[:8] for id in ids] == ["answer 0", "answer 1", "answer 2"]


async def test_the_name_of_an_entry_is_short_whatever_was_asked(connect: Connect) -> None:
    async with connect(extra=tools()) as client:
        for subject in ("x" * 5000, "世界" * 500, '"\n\t\\' * 500, "\ud800" * 90, ""):
            await client.call_tool("same", {"subject": subject})
        listed = await client.call_tool("scratchpad_list", {})
    assert len(texts(listed)[0].encode()) < 2048
    for entry in structured(listed)["entries"]:
        assert len(json.dumps(entry["about"], ensure_ascii=False).encode()) <= 80


# The list


async def test_a_list_of_ten_thousand_entries_is_short_and_counts_them_all(app: App, connect: Connect) -> None:
    pad = Scratchpad(app.records, app.blobs, lambda: 1_800_000_000.0)
    count = MOST_ENTRIES - 1 if app.settings.mode == "embedded" else 1200
    tool, about = "t" * 48, "世" * 26
    for n in range(count):
        value: JsonObject = {
            "tool": tool,
            "about": about,
            "size_bytes": 1000,
            "kept_at": 1_700_000_000 + n,
            "used_at": 0,
            "scopes": [],
        }
        app.records.put(LOCAL, "scratchpad", f"{n * 7919 % count:012x}", value, durable=False)
    newest = pad.keep(LOCAL, tool, "y" * 1000, about=about)
    async with connect() as client:
        listed = await client.call_tool("scratchpad_list", {})
        longer = structured(await client.call_tool("scratchpad_list", {"limit": 30}))
    assert len(texts(listed)[0].encode()) <= 2048
    stats = structured(listed)["stats"]
    assert (stats["total_entries"], stats["total_size_bytes"]) == (count + 1, (count + 1) * 1000)
    stamps = [one["timestamp"] for one in longer["entries"]]
    assert len(stamps) == 30
    assert stamps == sorted(stamps, reverse=True)
    assert longer["entries"][0]["id"] == newest.id


@pytest.mark.parametrize("app", ["embedded"], indirect=True)
async def test_there_are_ten_thousand_entries_at_most(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_ENTRIES == 10_000
    most = 100
    monkeypatch.setattr(scratchpad, "MOST_ENTRIES", most)
    pad = Scratchpad(app.records, app.blobs, lambda: 1.0, capacity=most * 10)
    for n in range(most):
        value: JsonObject = {"tool": "x", "about": "", "size_bytes": 1, "kept_at": n, "used_at": n, "scopes": []}
        app.records.put(LOCAL, "scratchpad", f"{n:012x}", value, durable=False)
    newest = pad.keep(LOCAL, "x", "y")
    kept = {one.id for one in pad.list(LOCAL)}
    assert newest.id in kept
    assert f"{most - 1:012x}" in kept
    assert len(kept) <= most


@each("limit", [0, -1, 1001, "many"])
async def test_a_senseless_limit_of_the_list_is_refused(connect: Connect, limit: object) -> None:
    async with connect() as client:
        answer = await client.call_tool("scratchpad_list", {"limit": limit})
    assert error_of(answer)["code"] == "INVALID_PARAMS"
