"""Documents on a stage whose index is in the bucket: written, found, changed by another environment, and too many."""

import pytest
from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import Settings
from loci.mcp.module import tool_families
from loci.mcp.server import build_server
from tests.surface.conftest import Connect
from tests.surface.results import call, structured, texts

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", ["s3"], indirect=True)]


def another(app: App, **settings: object) -> App:
    """Another environment of the same function, with a disk and memory of its own."""
    return build_app(Settings.model_validate({**app.settings.model_dump(), **settings}))


async def test_what_a_tool_writes_a_search_finds(connect: Connect) -> None:
    await call(connect, "write_document", path="notes/river.md", content="# River\n\nHorses cross it in winter.\n")
    found = await call(connect, "search_documents", query="horses in winter")
    assert [row["id"] for row in found["results"]] == ["notes-river"]


async def test_what_another_environment_writes_the_next_search_finds(app: App, connect: Connect) -> None:
    assert (await call(connect, "search_documents", query="horses"))["results"] == []
    other = another(app)
    other.documents.parts.library.add(LOCAL, "notes/river.md", b"# River\n\nHorses cross it in winter.\n")
    found = await call(connect, "search_documents", query="horses")
    assert [row["id"] for row in found["results"]] == ["notes-river"]
    other.documents.parts.library.remove_upload(LOCAL, "notes/river.md")
    assert (await call(connect, "search_documents", query="horses"))["results"] == []


async def test_links_follow_what_another_environment_writes(app: App, connect: Connect) -> None:
    await call(connect, "write_document", path="notes/a.md", content="# A\n\nSee [[b]].\n")
    before = await call(connect, "explore_links", id="notes-a")
    another(app).documents.parts.library.add(LOCAL, "notes/b.md", b"# B\n\nHere.\n")
    assert await call(connect, "explore_links", id="notes-a") != before


async def test_an_owner_with_too_many_passages_is_told_what_to_do(app: App) -> None:
    small = another(app, search_passages=2)
    add = small.documents.parts.library.add
    add(LOCAL, "notes/a.md", b"# A\n\nHorses.\n")
    add(LOCAL, "notes/b.md", b"# B\n\nHorses.\n")
    async with Client(build_server(small, "documents", tool_families(small)), mode="2026-07-28") as client:

        async def written(path: str, content: str, mode: str = "append") -> str:
            answer = await client.call_tool("write_document", {"path": path, "content": content, "mode": mode})
            assert not answer.is_error, texts(answer)
            return str(structured(answer))

        async def found() -> set[str]:
            answer = structured(await client.call_tool("search_documents", {"query": "horses"}))
            return {row["id"] for row in answer["results"]}

        told = await written("notes/c.md", "# C\n\nHorses.\n", "create")
        assert "at most 2 passages" in told
        assert "OpenSearch" in told
        assert "loci reindex --stack" in told
        assert await found() == {"notes-a", "notes-b"}
        # What is there can still be changed, and what did not fit is found as soon as there is room.
        assert "at most" not in await written("notes/a.md", "Horses drink.\n")
        assert await found() == {"notes-a", "notes-b"}
        small.documents.parts.library.remove_upload(LOCAL, "notes/b.md")
        await written("notes/a.md", "Horses again.\n")
        assert await found() == {"notes-a", "notes-c"}
