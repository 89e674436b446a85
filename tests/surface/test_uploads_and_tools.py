"""Documents that are uploaded and that tools write, too: whose text stands, and that none is lost."""

from collections.abc import Sequence

import pytest

from loci.app import App
from loci.core.errors import Unavailable
from loci.core.identity import LOCAL, Owner
from loci.documents.ingest.index_writer import DocumentDraft, EmbeddedDrafts, IndexWriter
from tests.surface.conftest import Connect
from tests.surface.results import call
from tests.surface.runtimes import RUNTIMES

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]

PATH = "notes/plan.md"
FIRST, SECOND = b"# Plan\n\nFirst.\n", b"# Plan\n\nSecond.\n"
TOOLS = b"# Plan\n\nFirst.\n\nOf an agent.\n"


def text(app: App) -> bytes | None:
    document = app.documents.parts.catalog.find(LOCAL, PATH).document
    return app.documents.parts.library.read(LOCAL, document.id).text.encode() if document else None


def fed(app: App) -> dict[str, str]:
    """What a client that sends the folder is told to be there."""
    return {one.path: one.sha256 for one in app.documents.parts.sync.uploaded(LOCAL, "notes", None)[0]}


@pytest.fixture
async def written(app: App, connect: Connect) -> App:
    """A document that was uploaded, and then written by a tool."""
    app.documents.parts.library.add(LOCAL, PATH, FIRST)
    await call(connect, "write_document", path=PATH, content="Of an agent.", mode="append")
    assert text(app) == TOOLS
    return app


async def test_an_upload_that_is_what_it_was_leaves_what_a_tool_wrote_since(written: App, connect: Connect) -> None:
    for _ in range(2):
        assert written.documents.parts.library.add(LOCAL, PATH, FIRST).id == "notes-plan"
    assert text(written) == TOOLS
    found = await call(connect, "search_documents", query="agent")
    assert [row["id"] for row in found["results"]] == ["notes-plan"]


async def test_a_later_upload_wins_and_what_the_tool_wrote_comes_back_by_undo(written: App, connect: Connect) -> None:
    written.documents.parts.library.add(LOCAL, PATH, SECOND)
    assert text(written) == SECOND
    undone = await call(connect, "undo_write", path=PATH)
    assert (undone["undone"].split(" at ")[0], undone["undoable"]) == ("an upload", 1)
    assert text(written) == TOOLS
    written.documents.parts.library.add(LOCAL, PATH, SECOND)  # it is told of once more
    assert text(written) == TOOLS
    await call(connect, "undo_write", path=PATH)
    assert text(written) == FIRST


async def test_an_upload_of_what_the_tool_wrote_is_the_upload_from_then_on(written: App) -> None:
    written.documents.parts.library.add(LOCAL, PATH, TOOLS)
    written.documents.parts.library.add(LOCAL, PATH, FIRST)
    assert text(written) == FIRST


async def test_a_removed_upload_takes_the_document_out_and_undo_brings_the_tools_text_back(
    written: App, connect: Connect
) -> None:
    for _ in range(2):
        written.documents.parts.library.remove_upload(LOCAL, PATH)
        assert text(written) is None
    undone = await call(connect, "undo_write", path=PATH)
    assert undone["undone"].startswith("the removal of an upload at ")
    assert text(written) == TOOLS
    written.documents.parts.library.remove_upload(LOCAL, PATH)  # it is told of once more
    assert text(written) == TOOLS


async def test_what_only_a_tool_wrote_is_not_taken_out(app: App, connect: Connect) -> None:
    await call(connect, "write_document", path=PATH, content="# Plan\n\nOf an agent.")
    assert fed(app) == {}
    app.documents.parts.library.remove_upload(LOCAL, PATH)
    assert text(app) == b"# Plan\n\nOf an agent.\n"


async def test_an_upload_over_what_only_a_tool_wrote_wins_and_can_be_undone(app: App, connect: Connect) -> None:
    await call(connect, "write_document", path=PATH, content="# Plan\n\nOf an agent.")
    app.documents.parts.library.add(LOCAL, PATH, FIRST)
    assert text(app) == FIRST
    await call(connect, "undo_write", path=PATH)
    assert text(app) == b"# Plan\n\nOf an agent.\n"


async def test_who_sends_a_folder_is_told_what_was_sent_and_not_what_tools_wrote(written: App) -> None:
    sent = fed(written)
    written.documents.parts.library.add(LOCAL, "notes/other.md", FIRST)
    assert set(fed(written).values()) == set(sent.values())


async def test_a_tools_text_that_was_not_indexed_yet_is_not_lost_to_an_upload(app: App, connect: Connect) -> None:
    app.documents.parts.library.add(LOCAL, PATH, FIRST)

    def fail(*_: object, **__: object) -> None:
        raise Unavailable("The index is away", "Try again")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(app.documents.parts.index), "put", fail)
        said = await call(connect, "write_document", path=PATH, content="Of an agent.", mode="append")
        assert "The index is away" in said["unfinished"]
    app.documents.parts.library.add(LOCAL, PATH, FIRST)
    assert text(app) == TOOLS
    assert app.documents.parts.library.get(LOCAL, "notes-plan").sha256
    app.documents.parts.library.add(LOCAL, PATH, SECOND)
    await call(connect, "undo_write", path=PATH)
    assert text(app) == TOOLS


async def test_a_tool_that_writes_while_an_upload_is_read_loses_nothing(app: App, connect: Connect) -> None:
    app.documents.parts.library.add(LOCAL, PATH, FIRST)
    embed = IndexWriter.embed

    def late(writer: IndexWriter, owner: Owner, drafts: Sequence[DocumentDraft]) -> EmbeddedDrafts:
        patch.undo()
        app.authoring.change(LOCAL, PATH, lambda _, __: TOOLS, expect=None, by="write_document")
        return embed(writer, owner, drafts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IndexWriter, "embed", late)
        app.documents.parts.library.add(LOCAL, PATH, SECOND)
    assert text(app) == SECOND
    await call(connect, "undo_write", path=PATH)
    assert text(app) == TOOLS
