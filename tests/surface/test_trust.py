"""Who said so: what tools write, and what they answer, says if texts of others may be in it."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.app import App
from loci.authoring.edit_draft import checked_draft
from loci.compose import build_app
from loci.core.identity import LOCAL, Caller
from loci.core.settings import load_settings
from loci.core.trust import Readings, gathered, saw
from loci.documents.document import Document
from loci.documents.foreign import foreign_of
from loci.documents.history import History, hash_of
from loci.gateway.capabilities.api import EndedRun
from loci.mcp.server import build_server
from loci.recall.quoting import is_own
from loci.transfer.items import TAKEN, Loaded, Receiver
from tests.support.recorded_records import RecordedRecords
from tests.surface.conftest import Connect
from tests.surface.files.test_artifacts import told
from tests.surface.results import call, structured, texts, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = pytest.mark.anyio
PAGE = "---\ntrust: foreign\n---\n# The page\n\nThe tide is high on Mondays, says the page.\n"
SESSION = (
    '---\ntype: "coding-session"\ntrust: "foreign"\nforeign: [14-16]\n---\n\n# Fares\n\n## Turns\n\n### User\n\n'
    "The fare of the ferry is two coins.\n### Assistant\n\nA page says that the lantern is green.\n"
)
NOTES = {"page.md": PAGE, "boat.md": "# Boats\n\nThe boat is red.\n", "fares.md": SESSION}


async def found(connect: Connect, query: str) -> tuple[dict[str, Any], str]:
    """The first result, and the text of the answer."""
    async with connect("documents") as client:
        answer = await client.call_tool("search_documents", {"query": query})
    return structured(answer)["results"][0], texts(answer)[0]


async def write(connect: Connect, path: str, **more: Any) -> None:
    async with connect("documents") as client:
        answer = await client.call_tool("write_document", {"path": path, **more})
    assert not answer.is_error, texts(answer)


def kept(app: App, path: str) -> Document:
    document = app.documents.parts.catalog.find(LOCAL, path).document
    assert document is not None
    return document


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
async def test_what_is_written_after_texts_of_others_were_read_says_so(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    take_in(app, written(tmp_path / "notes", NOTES))
    row, text = await found(connect, "what colour has the boat")
    assert "trust" not in row
    assert "foreign" not in text
    await write(connect, "notes/own.md", content="# Oars\n\nThe oars are of ash wood.\n")
    row, text = await found(connect, "when is the tide high")
    assert (row["trust"], row["sources"]) == ("foreign", "note notes/page.md")
    assert "**foreign**: note notes/page.md" in text
    await write(connect, "notes/made.md", content="# Anchors\n\nThe anchor weighs nine stones.\n")
    row, _ = await found(connect, "how heavy is the anchor")
    assert (row["trust"], row["sources"]) == ("foreign", "note notes/page.md")
    read = await call(connect, "read_node_content", id="notes/made.md")
    assert (read["trust"], read["sources"]) == ("foreign", "note notes/page.md")
    assert "trust" not in await call(connect, "read_node_content", id="notes/own.md")
    assert [is_own(kept(app, f"notes/{one}.md")) for one in ("own", "made", "boat", "page")] == [
        *(True, False, True, False)
    ]
    [past] = History(app.blobs).writes(LOCAL, kept(app, "notes/made.md").path)
    assert past.origin is not None
    assert (past.by, past.origin.trust, past.origin.by) == ("write_document", "foreign", "local")
    assert past.origin.client.startswith("mcp")
    assert past.origin.session


async def test_of_a_session_with_an_agent_only_its_foreign_lines_count(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    take_in(app, written(tmp_path / "notes", NOTES))
    own = await call(connect, "read_node_content", id="notes/fares.md", end_line=12)
    await write(connect, "notes/one.md", content="# One\n")
    foreign = await call(connect, "read_node_content", id="notes/fares.md", start_line=14)
    await write(connect, "notes/two.md", content="# Two\n")
    assert ("trust" in own, foreign["trust"]) == (False, "foreign")
    assert (kept(app, "notes/one.md").trust, kept(app, "notes/two.md").trust) == ("own", "foreign")


async def test_a_file_that_was_added_after_texts_of_others_were_read_says_so(app: App) -> None:
    app.documents.parts.library.add(LOCAL, "page.md", PAGE.encode())
    async with Client(build_server(app), mode="2026-07-28") as client:
        await client.call_tool("add_memory", {"name": "own.txt", "text": "The boat is red."})
        await client.call_tool("read_node_content", {"id": "page.md"})
        await client.call_tool("add_memory", {"name": "made.txt", "text": "The tide is high."})
    rows = {
        one["name"]: one for one in (await told(app, "search_memory", parsed_query="tide boat"))["result"]["results"]
    }
    assert (rows["made.txt"]["trust"], rows["made.txt"]["sources"]) == ("foreign", "note page.md")
    assert "trust" not in rows["own.txt"]


async def test_the_log_tells_who_wrote_what(app: App, connect: Connect) -> None:
    await write(connect, "own.md", content="# Own\n")
    app.documents.parts.library.add(LOCAL, "page.md", PAGE.encode())
    await call(connect, "read_node_content", id="page.md")
    await write(connect, "made.md", content="# Made\n")
    await call(connect, "move_document", path="made.md", to="moved.md")
    await write(connect, "newer.md", content="# Newer\n", supersedes="own.md")
    app.events.finish()
    told = [one.fields for _, one in app.events.calls(LOCAL, 0, writes=True).events]
    assert [(one["tool"], one["name"], one["trust"], one["sources"]) for one in told] == [
        ("write_document", "own.md", "own", []),
        ("write_document", "made.md", "foreign", ["note page.md"]),
        ("move_document", "moved.md", "foreign", ["note page.md"]),
        ("write_document", "newer.md", "foreign", ["note page.md"]),
        ("write_document", "own.md", "foreign", ["note page.md"]),
    ]
    assert all(one["client"] and one["session"] and one["by"] == "local" for one in told)
    assert {one.kind for _, one in app.events.calls(LOCAL, 0).events} == {"call"}


async def test_who_reads_only_what_is_own_costs_the_store_nothing(app: App, connect: Connect, tmp_path: Path) -> None:
    take_in(app, written(tmp_path / "notes", {"boat.md": NOTES["boat.md"]}))
    app.readings = Readings(asked := RecordedRecords(app.records))
    await found(connect, "what colour has the boat")
    await call(connect, "read_node_content", id="notes/boat.md")
    assert asked.calls == []


def edit(app: App, path: str, text: str) -> None:
    """As an editor does it."""
    Path(path).write_text(text, "utf-8")
    app.documents.parts.ingest.run(LOCAL, [str(Path(path).parent)])


async def test_an_editor_makes_nothing_own(app: App, connect: Connect, tmp_path: Path) -> None:
    folder = written(tmp_path / "notes", NOTES)
    take_in(app, folder)
    await call(connect, "read_node_content", id="notes/page.md")
    await write(connect, "notes/made.md", content="# Made\n\nThe anchor is heavy.\n")
    edit(app, str(folder / "made.md"), "# Made\n\nThe anchor is heavy, they say.\n")
    assert kept(app, "notes/made.md").trust == "foreign"
    (folder / "made.md").rename(folder / "other.md")
    app.documents.parts.ingest.run(LOCAL, [str(folder)])
    assert kept(app, "notes/other.md").trust == "foreign"
    (folder / "other.md").unlink()
    app.documents.parts.ingest.run(LOCAL, [str(folder)])
    edit(app, str(folder / "made.md"), "# Made anew\n")
    assert foreign_of(kept(app, "notes/made.md")) == ()


async def test_a_write_that_was_interrupted_keeps_its_origin(app: App, connect: Connect) -> None:
    """The text is there, and the process ended before its record: the repair knows who wrote it."""
    app.documents.parts.library.add(LOCAL, "page.md", PAGE.encode())
    await call(connect, "read_node_content", id="page.md")
    await write(connect, "made.md", content="# Made\n\nThe anchor is heavy.\n")
    app.documents.parts.writer.remove(LOCAL, kept(app, "made.md").id)
    app.authoring._recovery.journal.begin(LOCAL, "made.md", None)  # pyright: ignore[reportPrivateUsage]
    assert app.authoring.repair(LOCAL) == 1
    assert (kept(app, "made.md").trust, kept(app, "made.md").sources) == ("foreign", ("note page.md",))


def test_a_text_whose_writer_nobody_noted_stays_unknown(app: App) -> None:
    draft = checked_draft("create", "# Old\n\nA line.\n", None, None, None, None)
    app.authoring.write(LOCAL, "old.md", draft, expect=None)
    more = checked_draft("append", "Another.\n", None, None, None, None)
    app.authoring.write(LOCAL, "old.md", more, expect=None, origin=app.readings.origin(Caller(LOCAL, "local")))
    assert (kept(app, "old.md").trust, is_own(kept(app, "old.md"))) == (None, False)


def test_a_call_within_a_call_tells_the_outer_one() -> None:
    with gathered() as outer:
        with gathered() as inner:
            saw(["tool server shop"])
        saw(["note a.md"])
    assert ([*inner], [*outer]) == (["tool server shop"], ["tool server shop", "note a.md"])
    saw(["nobody asks"])


async def test_a_kept_result_tells_who_reads_it_later(app: App) -> None:
    with gathered():
        saw(["tool server shop"])
        inside = app.scratchpad.keep(LOCAL, "shop:long_story", "tale " * 9)
    with gathered():
        own = app.scratchpad.keep(LOCAL, "search_documents", "The boat is red.")
    late = app.scratchpad.keep(LOCAL, "run_memory_code", "42")
    told: list[list[str]] = []
    for one in (inside, own, late):
        with gathered() as seen:
            app.scratchpad.read(LOCAL, one.id)
        told.append([*seen])
    assert told == [["tool server shop"], [], ["a late result of run_memory_code"]]


def test_learned_code_tells_if_its_session_had_read_texts_of_others(app: App) -> None:
    for intent, foreign in (("count the boats", True), ("paint the oars", False)):
        run = EndedRun(f"return {json.dumps(intent)}.length", intent, {}, (), worked=True, foreign=foreign)
        app.tools.capabilities.learn(LOCAL, run)
    app.tools.finish_learning()
    told: list[int] = []
    for intent in ("count the boats", "paint the oars"):
        with gathered() as seen:
            assert app.tools.capabilities.find(LOCAL, intent).capabilities[0].capability.intent == intent
        told.append(len(seen))
    assert told == [1, 0]


def test_an_archive_keeps_the_trust(tmp_path: Path) -> None:
    apps = [build_app(load_settings({"data": tmp_path / one, "models": tmp_path / "models"})) for one in "ab"]
    with closing(apps[0]) as here, closing(apps[1]) as there:
        origin = here.readings.origin(Caller(LOCAL, "local")).with_sources(["tool server shop"])
        draft = checked_draft("create", "# Made\n\nThe anchor is heavy.\n", None, None, None, None)
        here.authoring.write(LOCAL, "made.md", draft, expect=None, origin=origin)
        items = [one for one in here.transfer.kinds["documents"].items(LOCAL, None) if isinstance(one, Loaded)]
        hashed = [replace(one.item, blobs={name: hash_of(one.load(name)) for name in one.item.blobs}) for one in items]
        given = [Loaded(item, one.load) for item, one in zip(hashed, items, strict=True)]
        assert there.transfer.kinds["documents"].store(Receiver(LOCAL), given) == [TAKEN]
        assert (kept(there, "made.md").trust, kept(there, "made.md").sources) == ("foreign", ("tool server shop",))
        [past] = History(there.blobs).writes(LOCAL, "made.md")
        assert past.origin == origin
