"""Texts that have stopped a server, through the tools: each is written, found and removed like any other."""

from pathlib import Path

import pytest
from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.documents.checks import check_owners
from loci.documents.content import limited_parser
from loci.documents.document import UNPARSED
from loci.documents.writing.write_journal import WriteJournal
from loci.mcp.module import tool_families
from loci.mcp.server import build_server
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call, structured, texts, written
from tests.surface.runtimes import RUNTIMES
from tests.unit.linear.shapes import KNOWN, repeated

pytestmark = pytest.mark.anyio
SIZE = 100_000
STUCK = "# Never\n\nstrawberry never\n"


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
@each("name", KNOWN)
async def test_what_has_stopped_a_server_is_written_and_found(app: App, connect: Connect, name: str) -> None:
    text = f"{repeated(*KNOWN[name])(SIZE)}\n\nstrawberry\n"
    made = await call(connect, "write_document", path="notes/a.md", content=text)
    found = await call(connect, "search_documents", query="strawberry")
    assert [one["id"] for one in found["results"]] == [made["id"]]
    [document] = app.documents.parts.library.documents(LOCAL)
    assert document.problems == ()
    app.documents.parts.library.remove(LOCAL, [document])


@pytest.fixture
def app_after_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    """A server that starts after one that was killed while it parsed a document, which never ends."""
    monkeypatch.setattr(limited_parser, "PROGRAM", "tests.support.stuck_parser")
    notes = written(tmp_path / "notes", {"kept.md": "# Kept\n"})
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "models", "parse_seconds": 0.5}))
    app.documents.ingest(LOCAL, [str(notes)])
    [root] = app.documents.parts.catalog.roots(LOCAL)
    written(notes, {"stuck.md": STUCK})
    WriteJournal(app.records).begin(LOCAL, "notes/stuck.md", root)
    app.documents.upkeep.repair(LOCAL)
    return app


async def test_after_a_crash_it_is_plain_text_that_is_found_named_and_forgotten(app_after_a_crash: App) -> None:
    app = app_after_a_crash
    async with Client(build_server(app, "documents", tool_families(app))) as client:
        found = await client.call_tool("search_documents", {"query": "strawberry"})
        assert [one["id"] for one in structured(found)["results"]] == ["notes-stuck"]
        for tool, arguments in (
            ("write_document", {"path": "notes-stuck", "mode": "append", "content": "more"}),
            ("read_node_content", {"id": "notes-stuck", "heading": "Never"}),
            ("inject_tags", {"file_path": "notes/stuck.md", "tags": ["new"]}),
        ):
            refused = await client.call_tool(tool, arguments)
            assert refused.is_error
            assert texts(refused)[0].startswith("NOT_PARSED")
    [told] = [one for one in check_owners(app, fix=False) if one.name == "documents"]
    assert (told.state, "notes/stuck.md (It could not be parsed in time" in told.what) == ("warning", True)
    app.documents.forget(LOCAL, ["notes-stuck"], lambda _: None)
    assert [one.id for one in app.documents.parts.library.documents(LOCAL)] == ["notes-kept"]


async def test_an_ingest_after_one_that_never_ended_is_careful(app_after_a_crash: App, tmp_path: Path) -> None:
    app = app_after_a_crash
    written(tmp_path / "notes", {"also.md": STUCK})
    assert not app.documents.parts.catalog.begin_ingest(LOCAL)
    summary = app.documents.ingest(LOCAL, [str(tmp_path / "notes")])
    assert summary.problems == (("notes/also.md", UNPARSED),)
    assert not app.documents.parts.catalog.begin_ingest(LOCAL)
