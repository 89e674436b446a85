"""A write that supersedes another note marks that one in the same write, and one undo takes back both."""

from pathlib import Path

import pytest

from loci.app import App
from loci.core.errors import Refused, Unavailable
from loci.core.identity import LOCAL
from loci.documents.ingest.local_files import blob_key
from loci.documents.whole_texts import WriteJournal
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, written
from tests.surface.runtimes import WITHOUT_SEARCH, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", WITHOUT_SEARCH, indirect=True)]
RECORD = "---\ntitle: Engine\nstatus: accepted # by all\ndate: 2024-01-01\n---\n# Engine\n\nIt burns diesel.\n"
NOTES = {
    "adr/0001-engine.md": RECORD,
    "adr/0002-boat.md": "---\nsuperseded_by: 0003-ship\n---\n# Boat\n\nIt is small.\n",
    "adr/0003-ship.md": "# Ship\n\nIt is large.\n",
    "other/0001-engine.md": "# Engine of the museum\n",
    "plain.md": "# Plain\n\nText.\n",
    "listed.md": "---\nsupersedes:\n  - 0003-ship\ntags: [a]\n---\n# Listed\n",
    "toml.md": '+++\ntitle = "T"\n+++\n# T\n',
}
NEW = "# New engine\n\nIt is electric.\n"


@pytest.fixture
def notes(app: App, tmp_path: Path) -> App:
    take_in(app, written(tmp_path / "notes", NOTES))
    return app


def text(app: App, path: str) -> str | None:
    found = app.documents.parts.catalog.find(LOCAL, f"notes/{path}")
    if found.document is None:
        return None
    if found.document.root:
        return app.documents.read(LOCAL, found.id).text
    return app.blobs.read(LOCAL, blob_key(found.id)).decode()


def all_texts(app: App) -> dict[str, str | None]:
    return {path: text(app, path) for path in [*NOTES, "adr/0004-new.md"]}


BEFORE = {**NOTES, "adr/0004-new.md": None}


@each(
    ("older", "named", "linked", "marked"),
    [
        (
            "adr/0001-engine.md",
            "notes/adr/0001-engine.md",
            f'---\nsupersedes: "0001-engine"\n---\n\n{NEW}',
            RECORD.replace("accepted #", "superseded #").replace("01-01\n", '01-01\nsuperseded_by: "0004-new"\n'),
        ),
        (
            "plain.md",
            "notes-plain",
            f"---\nsupersedes: plain\n---\n\n{NEW}",
            '---\nsuperseded_by: "0004-new"\nstatus: superseded\n---\n\n# Plain\n\nText.\n',
        ),
    ],
)
async def test_both_are_written_and_one_undo_takes_back_both(
    connect: Connect, notes: App, older: str, named: str, linked: str, marked: str
) -> None:
    new, paths = {"path": "notes/adr/0004-new.md", "content": NEW, "supersedes": named}, ("adr/0004-new.md", older)
    for path in paths:
        said = await call(connect, "write_document", **new)
        assert said["result"].endswith(f"and marked {named} as superseded")
        assert [text(notes, one) for one in paths] == [linked, marked]
        assert not (await call(connect, "write_document", **new))["changed"]
        undone = await call(connect, "undo_write", path=f"notes/{path}")
        is_new = path == paths[0]
        did = f"took back the change of notes/{older}" if is_new else "took notes/adr/0004-new.md away"
        assert undone["result"].endswith(f", and {did}")
        assert all_texts(notes) == BEFORE


@each(
    ("older", "more", "code"),
    [
        ("notes/none.md", {}, "NO_SUCH_DOCUMENT"),
        ("notes-none", {}, "NODE_NOT_FOUND"),
        ("notes/adr/0004-new.md", {}, "itself"),
        ("notes/adr/0002-boat.md", {}, "is superseded by notes/adr/0003-ship.md already"),
        ("notes/listed.md", {"path": "notes/adr/0002-boat.md", "mode": "append"}, "so that one cannot supersede it"),
        ("notes/toml.md", {}, "No field can be added"),
        ("notes/plain.md", {"path": "notes/adr/0003-ship.md"}, "already exists"),
        ("notes/plain.md", {"path": "notes/adr/0003-ship.md", "mode": "edit"}, "BAD_ARGUMENTS"),
    ],
)
async def test_what_cannot_be_superseded_is_refused_and_nothing_is_written(
    connect: Connect, notes: App, older: str, more: dict[str, str], code: str
) -> None:
    arguments = {"path": "notes/adr/0004-new.md", "content": NEW, **more}
    assert code in await failed(connect, "write_document", **arguments, supersedes=older)
    assert all_texts(notes) == BEFORE
    assert WriteJournal(notes.records).unfinished(LOCAL) == []


async def test_a_link_that_the_text_has_and_other_values_of_the_field_stay(connect: Connect, notes: App) -> None:
    content = "# New\n\nSupersedes [the engine](0001-engine.md).\n"
    await call(
        connect, "write_document", path="notes/adr/0004-new.md", content=content, supersedes="notes/adr/0001-engine.md"
    )
    assert text(notes, "adr/0004-new.md") == content
    await call(
        connect, "write_document", path="notes/listed.md", content="More.", mode="append", supersedes="notes-plain"
    )
    listed = NOTES["listed.md"].replace("  - 0003-ship\n", "  - 0003-ship\n  - plain\n")
    assert text(notes, "listed.md") == f"{listed}\nMore.\n"
    await call(connect, "undo_write", path="notes/plain.md")
    assert (text(notes, "listed.md"), text(notes, "plain.md")) == (NOTES["listed.md"], NOTES["plain.md"])


async def test_what_changed_since_is_kept_and_loses_only_its_mark(connect: Connect, notes: App) -> None:
    new = "notes/adr/0004-new.md"
    await call(connect, "write_document", path=new, content=NEW, supersedes="notes/adr/0001-engine.md")
    await call(connect, "write_document", path="notes/adr/0001-engine.md", content="More.", mode="append")
    await call(connect, "write_document", path=new, content="More.", mode="append")
    assert (await call(connect, "undo_write", path=new))["undone"].startswith("write_document")
    await call(connect, "undo_write", path=new)
    assert text(notes, "adr/0001-engine.md") == f"{RECORD}\nMore.\n"
    assert text(notes, "adr/0004-new.md") is None


@pytest.mark.parametrize("kind", ["refused", "away"])
async def test_a_mark_that_fails_takes_back_both_or_is_made_later(connect: Connect, notes: App, kind: str) -> None:
    from loci.authoring import moving

    def fails(*_: object, **__: object) -> str:
        raise Refused("The disk is full", "Make room") if kind == "refused" else Unavailable("Away", "Try again")

    arguments = {"path": "notes/adr/0004-new.md", "content": NEW, "supersedes": "notes/plain.md"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moving.Moves, "rewrite", fails)
        said = await failed(connect, "write_document", **arguments)
    if kind == "refused":
        assert "The disk is full" in said
        assert all_texts(notes) == BEFORE
    else:
        assert "the next start finishes it" in said
        assert notes.authoring.repair(LOCAL) == 1
        assert 'superseded_by: "0004-new"' in str(text(notes, "plain.md"))
        assert "supersedes: plain" in str(text(notes, "adr/0004-new.md"))
    assert WriteJournal(notes.records).unfinished(LOCAL) == []
