"""Documents that a tool deletes: they are gone until undo brings them back, and no sync brings them back unnoticed."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from loci.documents.ingest.local_files import blob_key
from loci.documents.ingest.uploads import Applied
from tests.support.vault.write import BOM, Note, vault_notes
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = pytest.mark.anyio
everywhere = pytest.mark.parametrize("app", RUNTIMES, indirect=True)
here = pytest.mark.parametrize("app", ["embedded"], indirect=True)
PATH = "notes/plan.md"
FIRST, SECOND = b"# Plan\n\nFirst.\n", b"# Plan\n\nSecond.\n"
NOTES = {"plan.md": FIRST.decode(), "sub/b.md": "# B\n\nSee [[plan]].\n"}


@pytest.fixture
def notes(app: App, tmp_path: Path) -> Path:
    folder = written(tmp_path / "notes", NOTES)
    take_in(app, folder)
    return folder


def some() -> list[Note]:
    """One note with CRLF, one with a byte order mark, one in another script, one with properties, one long."""
    notes = vault_notes()
    return [
        next(note for note in notes if b"\r\n" in note.content),
        next(note for note in notes if note.content.startswith(BOM)),
        next(note for note in notes if note.path.startswith("zh/")),
        next(note for note in notes if note.aliases),
        max(notes, key=lambda note: len(note.content)),
    ]


async def delete(connect: Connect, name: str) -> Any:
    read = (await call(connect, "read_node_content", id=name))["hash"]
    return await call(connect, "delete_document", path=name, expected_hash=read)


def kept(app: App, path: str) -> bytes | None:
    """The text of the document as it is stored, also without a record of it."""
    library, document = app.documents.parts.library, app.documents.parts.catalog.find(LOCAL, path).document
    return library.content(LOCAL, document) if document else None


@everywhere
async def test_a_deleted_note_is_gone_and_undo_brings_back_its_bytes_and_all_that_found_it(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    folder = tmp_path / "vault"
    for note in some():
        file = folder / note.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(note.content)
    take_in(app, folder)
    catalog = app.documents.parts.catalog
    for note in some():
        path = f"vault/{note.path}"
        before = catalog.find(LOCAL, path).document
        assert before is not None
        said = await delete(connect, before.id)
        assert (said["path"], said["unfinished"]) == (path, None)
        assert said["result"].startswith("Deleted ")
        assert "NODE_NOT_FOUND" in await failed(connect, "read_node_content", id=before.id)
        found = await call(connect, "search_documents", query=note.title)
        assert path not in [one["path"] for one in found["results"]]
        if app.settings.mode == "embedded":
            assert not (folder / note.path).exists()
        else:
            assert blob_key(before.id) not in app.blobs.list(LOCAL, "documents/")
        undone = await call(connect, "undo_write", path=path)
        assert (undone["id"], undone["undone"].split()[0]) == (before.id, "delete_document")
        assert kept(app, path) == note.content
        after = catalog.find(LOCAL, path).document
        assert after is not None
        assert (after.title, after.tags, after.uploaded_sha256) == (before.title, before.tags, before.uploaded_sha256)
        [best, *_] = (await call(connect, "search_documents", query=note.title))["results"]
        assert best["path"] == path


@everywhere
async def test_a_document_that_changed_since_it_was_read_stays(app: App, connect: Connect, notes: Path) -> None:
    read = (await call(connect, "read_node_content", id="notes-plan"))["hash"]
    (notes / "plan.md").write_bytes(SECOND)
    take_in(app, notes)
    said = await failed(connect, "delete_document", path="notes-plan", expected_hash=read)
    assert said.startswith("CONFLICT: ")
    assert sha256(SECOND).hexdigest() in said
    assert kept(app, PATH) == SECOND
    assert "expected_hash" in await failed(connect, "delete_document", path="notes-plan")


@everywhere
@pytest.mark.usefixtures("notes")
async def test_what_is_not_there_is_not_deleted(connect: Connect) -> None:
    some_hash = "0" * 64
    for name, code in {
        "notes/gone.md": "NO_SUCH_DOCUMENT",
        "notes-plam": "NODE_NOT_FOUND",
        "../notes/plan.md": "BAD_PATH",
        "notes/../notes/plan.md": "BAD_PATH",
        "/etc/hosts.md": "OUTSIDE_ROOT",
    }.items():
        said = await failed(connect, "delete_document", path=name, expected_hash=some_hash)
        assert said.startswith(code), said
    await delete(connect, "notes-plan")
    assert "NO_SUCH_DOCUMENT" in await failed(connect, "delete_document", path=PATH, expected_hash=some_hash)
    assert "by its path" in await failed(connect, "undo_write", path="notes-plan")


@here
async def test_a_link_is_not_followed_to_what_is_deleted(connect: Connect, notes: Path, tmp_path: Path) -> None:
    outside = written(tmp_path / "outside", {"a.md": FIRST.decode()}) / "a.md"
    (notes / "out.md").symlink_to(outside)
    (notes / "link.md").symlink_to(notes / "plan.md")
    (notes / "sub" / "b.md").unlink()
    (notes / "sub" / "b.md").symlink_to(notes / "plan.md")
    expected = sha256(FIRST).hexdigest()
    refused = {
        "notes/out.md": "OUTSIDE_ROOT",
        str(outside): "OUTSIDE_ROOT",
        "notes/link.md": "IS_A_LINK",
        str(notes / "link.md"): "IS_A_LINK",
        "notes-sub-b": "IS_A_LINK",
    }
    for name, code in refused.items():
        said = await failed(connect, "delete_document", path=name, expected_hash=expected)
        assert said.startswith(code), said
    assert outside.read_bytes() == (notes / "plan.md").read_bytes() == FIRST


def fed(app: App) -> dict[str, str]:
    """What a client that sends the folder is told to be there."""
    return {one.path: one.sha256 for one in app.documents.sync.uploaded(LOCAL, "notes", None)[0]}


def sent(app: App, content: bytes) -> None:
    [done] = app.documents.sync.apply(LOCAL, [(PATH, content)], [], lambda: False)
    assert done == Applied(PATH)


@everywhere
async def test_the_same_upload_does_not_bring_it_back_and_another_does(app: App, connect: Connect) -> None:
    sent(app, FIRST)
    told = fed(app)
    await delete(connect, PATH)
    sent(app, FIRST)
    assert (kept(app, PATH), fed(app)) == (None, told)
    sent(app, SECOND)
    assert kept(app, PATH) == SECOND
    assert fed(app) == {PATH: sha256(SECOND).hexdigest()}
    sent(app, FIRST)
    assert kept(app, PATH) == FIRST


@everywhere
async def test_after_undo_the_upload_is_what_it_was(app: App, connect: Connect) -> None:
    sent(app, FIRST)
    await call(connect, "write_document", path=PATH, content="Of an agent.", mode="append")
    told = fed(app)
    await delete(connect, PATH)
    await call(connect, "undo_write", path=PATH)
    sent(app, FIRST)
    assert fed(app) == told
    assert kept(app, PATH) == FIRST + b"\nOf an agent.\n"


@everywhere
async def test_an_upload_that_was_removed_since_may_come_again(app: App, connect: Connect) -> None:
    sent(app, FIRST)
    await delete(connect, PATH)
    assert list(app.documents.sync.apply(LOCAL, [], [PATH], lambda: False)) == [Applied(PATH)]
    assert fed(app) == {}
    sent(app, FIRST)
    assert kept(app, PATH) == FIRST


@here
@pytest.mark.usefixtures("notes")
async def test_an_upload_beside_ingested_folders_comes_back_by_undo(app: App, connect: Connect) -> None:
    app.documents.parts.library.add(LOCAL, "kept/a.md", FIRST)
    await delete(connect, "kept/a.md")
    await call(connect, "undo_write", path="kept/a.md")
    assert kept(app, "kept/a.md") == FIRST


@here
async def test_an_ingestion_after_a_deletion_finds_nothing_to_do(app: App, connect: Connect, notes: Path) -> None:
    await delete(connect, PATH)
    summary = app.documents.ingest(LOCAL, [str(notes)])
    assert (summary.processed, summary.unchanged, summary.removed) == (0, 1, 0)
    assert sorted(one.name for one in notes.iterdir()) == ["sub"]
