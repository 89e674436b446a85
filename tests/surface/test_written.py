"""A write is reported once its text is written, whatever fails then; its links cost no look at the whole library."""

import random
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.errors import Unavailable
from loci.core.identity import LOCAL
from loci.core.stores import RecordStore
from loci.documents.catalog import Catalog
from loci.documents.ingest.local_files import blob_key
from loci.documents.link_table import LinkTable
from loci.graph.graph import build_graph
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call, failed
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]
PATH = "notes/plan.md"


@pytest.fixture
def notes(app: App, tmp_path: Path) -> App:
    """One note on disk, or uploaded."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.md").write_text("# Plan\n")
    take_in(app, tmp_path / "notes")
    return app


def away(*_: object, **__: object) -> None:
    raise Unavailable("The store is away", "Try again")


def text(app: App, path: str) -> str:
    found = app.documents.parts.catalog.find(LOCAL, path)
    if found.document and found.document.root:
        return app.documents.read(LOCAL, found.id).text
    return app.blobs.read(LOCAL, blob_key(found.id)).decode()


@pytest.mark.parametrize("failing", ["put", "named"])
async def test_a_write_is_reported_although_the_index_fails_after_it(
    connect: Connect, notes: App, failing: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(notes.documents.parts.index) if failing == "put" else LinkTable, failing, away)
        said = await call(connect, "write_document", path=PATH, content="More. [[plan b]]", mode="append")
    assert said["changed"]
    assert "The store is away" in said["unfinished"]
    assert said["unfinished"] in said["result"]
    again = await call(connect, "write_document", path=PATH, content="And more.", mode="append")
    assert again["unfinished"] is None
    assert [one["title"] for one in again["links"]] == ["plan b"]
    assert text(notes, PATH) == "# Plan\n\nMore. [[plan b]]\n\nAnd more.\n"
    assert (await call(connect, "undo_write", path=PATH))["undoable"] == 1
    found = await call(connect, "search_documents", query="plan")
    assert [one["id"] for one in found["results"]] == ["notes-plan"]


async def test_tags_are_reported_although_the_index_fails_after_them(connect: Connect, notes: App) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(notes.documents.parts.index), "put", away)
        said = await call(connect, "inject_tags", file_path=PATH, tags=["new"])
    assert "The store is away" in said["result"]
    again = await call(connect, "inject_tags", file_path=PATH, tags=["new"])
    assert again["added"] == []
    assert (await call(connect, "query_by_tags", tags=["new"]))["results"]


async def test_a_write_is_reported_although_its_note_in_the_journal_stays(connect: Connect, notes: App) -> None:
    remove = type(notes.records).remove

    def fails(store: RecordStore, owner: Any, kind: str, key: str, **more: Any) -> bool:
        if kind == "unfinished":
            away()
        return remove(store, owner, kind, key, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(notes.records), "remove", fails)
        said = await call(connect, "write_document", path=PATH, content="More.", mode="append")
        assert (said["changed"], said["unfinished"], said["title"]) == (True, None, "Plan")
    assert notes.authoring.repair(LOCAL) == 1
    assert text(notes, PATH) == "# Plan\n\nMore.\n"


async def test_nothing_is_written_if_the_old_text_cannot_be_kept(connect: Connect, notes: App) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(notes.blobs), "write", away)
        said = await failed(connect, "write_document", path=PATH, content="More.", mode="append")
    assert said.startswith("STORE_UNAVAILABLE")
    assert text(notes, PATH) == "# Plan\n"
    assert "NO_HISTORY" in await failed(connect, "undo_write", path=PATH)


async def test_no_write_and_no_move_reads_all_documents(connect: Connect, notes: App) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for everything in ("documents", "mentions", "with_versions"):
            patch.setattr(Catalog, everything, away)
        await call(connect, "write_document", path="notes/a.md", content="# A\n\n[[plan]]\n")
        moved = await call(connect, "move_document", path="notes/plan.md", to="notes/goal.md")
        await call(connect, "undo_write", path="notes/goal.md")
        said = await call(connect, "write_document", path="notes/b.md", content="# B\n\n[[a]] [[c]]\n")
        more = await call(connect, "write_document", path="notes/c.md", content="# C\n\n[[B]]\n")
        await call(connect, "undo_write", path="notes/a.md")
        last = await call(connect, "write_document", path="notes/b.md", content="More", mode="append")
    assert (said["unfinished"], more["unfinished"], last["unfinished"]) == (None, None, None)
    assert moved["changed"] == ["notes/a.md"]
    assert [one["target"] for one in said["links"]] == ["notes-a", None]
    assert [one["target"] for one in more["links"]] == ["notes-b"]
    assert [one["target"] for one in last["links"]] == ["notes-c", None]


NAMES = ["login", "Log In", "index", "readme", "2026-01-02 login brief", "login debrief", "briefs/login", "x/y/login"]
TITLES = ["Login", "log-in", "Index", "Something else", "readme"]


@each("seed", range(4))
async def test_the_links_of_a_write_are_those_of_the_graph(connect: Connect, notes: App, seed: int) -> None:
    """Beside the tools, somebody else adds and removes documents from time to time."""
    choice, catalog = random.Random(seed), notes.documents.parts.catalog
    for number in range(14):
        path = f"notes/{choice.choice(['', 'a/', 'b/'])}{choice.choice(NAMES)}.md"
        links = " ".join(f"[[{one}]]" for one in choice.sample([*NAMES, *TITLES, "brief"], 4))
        alias = choice.choice(TITLES)
        content = f"---\naliases: [{alias}]\n---\n# {choice.choice(TITLES)}\n\n{number} {links}\n"
        entry = catalog.find(LOCAL, path)
        if number % 5 == 4:
            notes.documents.parts.library.add(LOCAL, f"uploads/other-{number}.md", content.encode())
            continue
        if entry.document and choice.random() < 0.4:
            said = await call(connect, "undo_write", path=path)
        else:
            mode = "append" if entry.document else "create"
            said = await call(connect, "write_document", path=path, content=content, mode=mode)
        if said["id"] is None:
            continue
        graph = build_graph(catalog.documents(LOCAL), catalog.mentions(LOCAL))
        outgoing = [(one.target, one.relation, one.line) for one in graph.outgoing.get(said["id"], ())]
        open_links = [(None, one.mention.relation, one.mention.line) for one in graph.open.get(said["id"], ())]
        wanted = sorted([*outgoing, *open_links], key=lambda one: one[2] or 0)
        assert [(one["target"], one["type"], one["line"]) for one in said["links"]] == wanted
