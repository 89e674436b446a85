"""What an agent reads of a search: whole passages first, with the lines around them, and never more than its room."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL_CALLER
from loci.core.json import Json
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from loci.search.inference import tokens_at_most
from tests.support.each import each
from tests.support.stub_model import stub_model
from tests.surface.conftest import Connect
from tests.surface.results import call, structured, texts, written
from tests.surface.runtimes import RUNTIMES, take_in, vault_by_words

pytestmark = pytest.mark.anyio
on_every_index = pytest.mark.parametrize("app", RUNTIMES, indirect=True)
embedded = pytest.mark.parametrize("app", ["embedded"], indirect=True)
ROOM = 8 * 1024

TALK = """\
# Talk of Monday

Ann: Good morning! How was the weekend at the lake?

Ben: Wet, but fine. We took the old boat out twice.

Ann: And where did you buy the new sail in the end?

Ben: In the harbour of Lindau, from the woman with the red hat.

Ann: She sold me my first oars, years ago.

Ben: Small world. The rope is from her brother, by the way.
"""
GUIDE = """\
# Guide to the boat

## Sail

The sail is hoisted before the boat leaves the pier.

## Engine

The engine starts cold: pull twice, and wait for the green lamp.

## Anchor

To lie at anchor for a night, pay out five times the depth.
"""
FILLER = "The pier, the wind and the water of the lake are told of at length on this page. " * 8


def shown(row: dict[str, Any]) -> list[str]:
    return [row["snippet"], *(one["text"] for one in row.get("passages", ()))]


def size(answer: CallToolResult) -> int:
    """Bytes of the larger of what a client may read: all texts, or the structure."""
    whole = json.dumps(structured(answer), ensure_ascii=False, separators=(",", ":"))
    return max(sum(len(one.encode()) for one in texts(answer)), len(whole.encode()))


# Passages


@on_every_index
async def test_a_short_passage_comes_with_the_turns_around_it(app: App, connect: Connect, tmp_path: Path) -> None:
    take_in(app, written(tmp_path / "notes", {"talk.md": TALK}))
    [row] = (await call(connect, "search_documents", query="where did you buy the sail", limit=5))["results"]
    assert "In the harbour of Lindau" in row["snippet"]
    first, last = map(int, row["lines"].split("-"))
    read = await call(connect, "read_node_content", id=row["id"], start_line=first, end_line=last)
    assert read["result"].rstrip("\n") == row["snippet"]
    assert len(row["snippet"]) <= 600


@on_every_index
async def test_a_document_shows_each_passage_that_answers_a_part(app: App, connect: Connect, tmp_path: Path) -> None:
    take_in(app, written(tmp_path / "notes", {"guide.md": GUIDE}))
    query = "engine starts cold, and lie at anchor for a night"
    [row] = (await call(connect, "search_documents", query=query, limit=5))["results"]
    assert {"The engine starts cold", "To lie at anchor"} <= {text[:22].rstrip() for text in shown(row)} | {
        text[:16] for text in shown(row)
    }
    [further, *_] = row["passages"]
    assert further["heading"].startswith("Guide to the boat > ")
    first, last = map(int, further["lines"].split("-"))
    read = await call(connect, "read_node_content", id=row["id"], start_line=first, end_line=last)
    assert read["result"].rstrip("\n") == further["text"]


@embedded
async def test_no_line_is_shown_twice(app: App, connect: Connect, tmp_path: Path) -> None:
    take_in(app, written(tmp_path / "notes", {"talk.md": TALK}))
    [row] = (await call(connect, "search_documents", query="sail boat rope oars lake weekend", limit=1))["results"]
    lines = [line for text in shown(row) for line in text.splitlines() if line]
    assert len(lines) == len(set(lines))


@on_every_index
async def test_room_goes_by_rank(app: App, connect: Connect, tmp_path: Path) -> None:
    take_in(
        app, written(tmp_path / "notes", {f"{number:02}.md": f"# Page {number}\n\n{FILLER}\n" for number in range(30)})
    )
    rows = (await call(connect, "search_documents", query="wind and water of the lake"))["results"]
    lengths = [len(row["snippet"]) for row in rows]
    assert len(rows) == 20
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > 600
    assert lengths[-10:] == [0] * 10


# The room


TAG = "crossing"
LINES = {
    "plain": "the ferry leaves the island at noon",
    "chinese": "渡轮在中午离开岛屿。" * 3,
    "emoji": "⛴️🏝️🕛 ferry 👩🏽‍✈️" * 4,
    "quotes": 'ferry "\\"\t\\\\' * 9,
    "controls": "the ferry \x1b[31mleaves\x1b[0m \x01 the island \x1b[1m\x1b[0m at noon " * 3,
    "right to left": "المعدية تغادر الجزيرة ferry " * 3,
}


@embedded
@each("kind", LINES)
async def test_an_answer_fits_whatever_it_finds(app: App, connect: Connect, tmp_path: Path, kind: str) -> None:
    line = LINES[kind]
    title = line.replace("\t", " ").strip() * 20
    name = "".join(one for one in line if one.isprintable() and one not in '/\\"')[:40]
    letters = "".join(one for one in line if one.isalnum())[:30]
    notes = {
        f"{name}/{name} {number:03}.md": f"---\ntitle: {json.dumps(title)}\ntags: [{TAG}]\n---\n"
        + f"# {title}\n\n## {line * 9}\n\n"
        + f"ferry {line} {number}.\n\n" * (number % 14 + 1)
        for number in range(70)
    }
    shutil.rmtree(tmp_path / "notes", ignore_errors=True)  # the row before
    take_in(app, written(tmp_path / "notes", notes))
    async with connect("documents") as client:
        for limit in (1, 3, 5, 8, 20, 50, 100):
            for query in ("ferry", line * 90):
                answer = await client.call_tool("search_documents", {"query": query[:5000], "limit": limit})
                assert not answer.is_error
                assert 0 < size(answer) <= ROOM
                assert structured(answer)["results"] or query != "ferry"
            dated = await client.call_tool(
                "temporal_search", {"query": "ferry", "date_range": "any time", "limit": limit}
            )
            assert size(dated) <= ROOM
        others = [f"{letters}{one}" for one in range(99)]
        for tags in ({"tags": [TAG]}, {"tags": [TAG, *others], "query": "ferry"}, {"tags": others}):
            tagged = await client.call_tool("query_by_tags", {**tags, "limit": 100})
            assert not tagged.is_error
            assert size(tagged) <= ROOM
        for properties in ({"status": line * 999, line * 9: line * 999}, {f"{line}{one}": line for one in range(200)}):
            answer = await client.call_tool("search_documents", {"query": line * 90, "properties": properties})
            assert "in its front matter" in structured(answer)["metadata"]["reason"]
            assert size(answer) <= ROOM


@pytest.mark.parametrize("letter", ["漢", "😀"])
async def test_an_answer_that_a_model_read_fits(tmp_path: Path, letter: str) -> None:
    line = letter * 400
    text = f"ferry {letter * 230}"
    best: list[Json] = [{"passage": one, "context": line, "snippet": text} for one in range(1, 6)]
    notes = {f"{one}.md": f"# {line[:60]}\n\n## {line[:200]}\n\n{text}\n" for one in range(3)}
    with stub_model() as stub:
        stub.says({"intent": line, "analysis": line, "order": [], "best": best})
        said: dict[str, object] = {
            "language_model": "openai:test",
            "language_model_url": stub.url,
            "language_model_key": "sk-1",
        }
        said |= {"language_model_seconds": 25}
        app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "models", **said}))
        with closing(app):
            take_in(app, written(tmp_path / "notes", notes))
            async with Client(build_server(app, "documents")) as client:
                answer = await client.call_tool("search_documents", {"query": text})
    [first, *_] = structured(answer)["results"]
    assert first["context"]
    assert structured(answer)["metadata"]["intent"]
    assert size(answer) <= ROOM


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> App:
    return vault_by_words(tmp_path_factory)


async def test_answers_of_a_vault_fit_and_hold_whole_passages(vault: App) -> None:
    async with Client(build_server(vault, "documents")) as client:
        for query in ("release v1.0.1", "notiz", "canvas", "fenster", "graph view"):
            for limit in (1, 5, 20, 100):
                answer = await client.call_tool("search_documents", {"query": query, "limit": limit})
                assert size(answer) <= ROOM
                rows = structured(answer)["results"]
                assert len(rows) == min(limit, len(rows)) >= min(limit, 10)


async def test_max_tokens_are_kept_in_the_text_and_in_the_structure(vault: App) -> None:
    async with Client(build_server(vault, "documents")) as client:
        for query in ("release v1.0.1", "notiz", "canvas", "fenster", "graph view"):
            for asked in (None, 300, 350, 450, 1000, 3000):
                answer = await client.call_tool("search_documents", {"query": query, "max_tokens": asked})
                assert tokens_at_most("\n".join(texts(answer))) <= (asked or 750)
                assert tokens_at_most(json.dumps(structured(answer), ensure_ascii=False)) <= (asked or 2250)
                [best, *_] = structured(answer)["results"]
                quoted = "\n".join(f"> {line}".rstrip() for line in best["snippet"].split("\n"))
                assert quoted in texts(answer)[0]


@on_every_index
async def test_an_answer_says_how_many_documents_had_no_room(app: App, connect: Connect, tmp_path: Path) -> None:
    take_in(
        app, written(tmp_path / "notes", {f"{number:02}.md": f"# Page {number}\n\n{FILLER}\n" for number in range(60)})
    )
    found = await call(connect, "search_documents", query="wind and water of the lake", limit=60)
    whole = json.loads((await call(connect, "scratchpad_read", id=found["scratchpad_id"], limit=1_000_000))["result"])
    assert len(found["results"]) + found["metadata"]["left_out"] == len(whole["results"]) == 60
    assert "left_out" not in whole["metadata"]
    assert {row["snippet"] for row in whole["results"]} == {FILLER.strip()}


@embedded
async def test_code_gets_every_document_with_its_whole_passage(app: App, tmp_path: Path) -> None:
    take_in(
        app, written(tmp_path / "notes", {f"{number:02}.md": f"# Page {number}\n\n{FILLER}\n" for number in range(60)})
    )
    found: Any = app.tools.value(LOCAL_CALLER, "code", "loci:search_documents", {"query": "wind lake", "limit": 60})
    assert [row["snippet"] for row in found["results"]] == [FILLER.strip()] * 60


# Fields that say nothing


@on_every_index
async def test_what_is_null_is_left_out_and_explain_brings_it(app: App, connect: Connect, tmp_path: Path) -> None:
    take_in(app, written(tmp_path / "notes", {"talk.md": TALK}))
    async with connect("documents") as client:
        plain = await client.call_tool("search_documents", {"query": "sail"})
        explained = await client.call_tool("search_documents", {"query": "sail", "explain": True})
    assert "null" not in texts(plain)[0]
    assert "stages" not in texts(plain)[0]
    [row] = structured(explained)["results"]
    assert {"context", "explain"} <= row.keys()
    assert [one["stage"] for one in structured(explained)["metadata"]["stages"]]
