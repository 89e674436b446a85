"""A text or a file that the disk damaged is refused by name. Nothing builds on it; the last good version is offered."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from loci.app import App
from loci.core.identity import LOCAL
from loci.documents.history import FOLDER
from loci.documents.ingest.local_files import blob_key
from loci.files.lake import content_key
from loci.mcp.server import build_server
from tests.surface.results import error_of, structured, texts, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = pytest.mark.anyio
on_some = pytest.mark.parametrize("app", [RUNTIMES[0], RUNTIMES[2]], indirect=True)
OTHER = b"# Other\n\nThe text of another document.\n"


def flipped(content: bytes) -> bytes:
    return content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]


DAMAGES: list[Callable[[bytes], bytes]] = [flipped, lambda text: text[:9], lambda _: b"", lambda _: OTHER]


@asynccontextmanager
async def asking(app: App) -> AsyncGenerator[Any]:
    async with Client(build_server(app, "all"), mode="2026-07-28") as client:

        async def ask(tool: str, **arguments: object) -> CallToolResult:
            return await client.call_tool(tool, arguments)

        yield ask


async def refused(asked: Any) -> dict[str, Any]:
    error = error_of(await asked)
    assert error["code"] == "CONTENT_DAMAGED", error
    return error


async def done(asked: Any) -> dict[str, Any]:
    answer = await asked
    assert not answer.is_error, texts(answer)
    return structured(answer)


def spoil(app: App, key: str, damage: Callable[[bytes], bytes]) -> None:
    app.blobs.write(LOCAL, key, damage(app.blobs.read(LOCAL, key)))


@on_some
async def test_a_damaged_text_is_refused_and_undo_puts_back_the_last_good_one(app: App) -> None:
    for number, damage in enumerate(DAMAGES):
        path, id = f"plan{number}.md", f"plan{number}"
        async with asking(app) as ask:
            await done(ask("write_document", path=path, content="# Plan\n\nFirst.\n"))
            await done(ask("write_document", path=path, content="Second.", mode="append"))
            spoil(app, blob_key(id), damage)
            told = await refused(ask("read_node_content", id=id))
            assert path in told["message"]
            assert "undo_write puts back its text from before write_document" in told["resolution"]
            await refused(ask("write_document", path=path, content="Third.", mode="append"))
            await refused(ask("write_document", path=path, mode="edit", old="Plan", new="Play"))
            await refused(ask("inject_tags", file_path=path, tags=["new"]))
            await refused(ask("move_document", path=path, to=f"moved{number}.md"))
            await done(ask("undo_write", path=path))
            assert (await done(ask("read_node_content", id=id)))["result"] == "# Plan\n\nFirst.\n"
            await done(ask("write_document", path=path, content="Third.", mode="append"))


@on_some
async def test_a_text_that_is_lost_is_told_by_its_path_and_undo_puts_back_the_one_before(app: App) -> None:
    async with asking(app) as ask:
        await done(ask("write_document", path="plan.md", content="# Plan\n\nFirst.\n"))
        await done(ask("write_document", path="plan.md", content="Second.", mode="append"))
        app.blobs.remove(LOCAL, blob_key("plan"))
        told = error_of(await ask("read_node_content", id="plan"))
        assert (told["code"], told["message"]) == ("CONTENT_NOT_FOUND", "The stored text of plan.md is gone")
        assert "undo_write puts back its text from before write_document" in told["resolution"]
        await done(ask("undo_write", path="plan.md"))
        assert (await done(ask("read_node_content", id="plan")))["result"] == "# Plan\n\nFirst.\n"


@on_some
async def test_a_damaged_text_without_an_earlier_one_can_be_removed_and_written_anew(app: App) -> None:
    async with asking(app) as ask:
        await done(ask("write_document", path="plan.md", content="# Plan\n"))
        spoil(app, blob_key("plan"), flipped)
        told = await refused(ask("read_node_content", id="plan"))
        assert "undo_write" not in told["resolution"]
        await refused(ask("undo_write", path="plan.md"))
        hash = told["message"].rpartition(" ")[2]
        await done(ask("delete_document", path="plan.md", expected_hash=hash))
        await done(ask("write_document", path="plan.md", content="# Plan\n"))
        assert (await done(ask("read_node_content", id="plan")))["result"] == "# Plan\n"


@on_some
async def test_an_upload_that_was_interrupted_is_no_damage_and_one_that_comes_again_mends(app: App) -> None:
    library = app.documents.parts.library
    library.add(LOCAL, "plan.md", b"# Plan\n\nFirst.\n")
    spoil(app, blob_key("plan"), flipped)
    async with asking(app) as ask:
        await refused(ask("read_node_content", id="plan"))
        library.add(LOCAL, "plan.md", b"# Plan\n\nFirst.\n")
        assert (await done(ask("read_node_content", id="plan")))["result"] == "# Plan\n\nFirst.\n"


async def test_a_file_that_somebody_edited_is_read_as_it_is(app: App, tmp_path: Path) -> None:
    folder = written(tmp_path / "notes", {"plan.md": "# Plan\n\nFirst.\n"})
    take_in(app, folder)
    (folder / "plan.md").write_text("# Plan\n\nEdited.\n")
    async with asking(app) as ask:
        assert "Edited" in (await done(ask("read_node_content", id="notes-plan")))["result"]
        await done(ask("write_document", path="notes/plan.md", content="More.", mode="append"))
        assert (folder / "plan.md").read_text() == "# Plan\n\nEdited.\n\nMore.\n"


@on_some
async def test_an_earlier_text_that_is_damaged_is_not_put_back(app: App) -> None:
    async with asking(app) as ask:
        await done(ask("write_document", path="plan.md", content="# Plan\n\nFirst.\n"))
        await done(ask("write_document", path="plan.md", content="Second.", mode="append"))
        spoil(app, app.blobs.list(LOCAL, FOLDER)[-1], flipped)
        assert (await ask("undo_write", path="plan.md")).is_error
        assert "Second" in (await done(ask("read_node_content", id="plan")))["result"]


@on_some
async def test_a_damaged_file_is_refused_by_name_and_mended_when_it_is_added_again(app: App) -> None:
    content = b"The ferry leaves at nine.\n"
    for number, damage in enumerate(DAMAGES):
        [file] = [app.files.add(LOCAL, f"ferry{number}.txt", content)]
        key = content_key(file.id, file.newest.sha256)
        spoil(app, key, damage)
        with pytest.raises(Exception, match=f"Version 1 of ferry{number}.txt is damaged") as told:
            _ = app.files.read(LOCAL, file.id).content
        assert getattr(told.value, "code", None) == "CONTENT_DAMAGED"
        if app.settings.mode == "embedded":
            async with asking(app) as ask:
                cited = {"chunk_id": f"{file.id}#0", "text": "The ferry leaves at nine."}
                await refused(ask("verify_citation", **cited))
        app.files.add(LOCAL, f"ferry{number}.txt", content)
        assert app.files.read(LOCAL, file.id).content == content
