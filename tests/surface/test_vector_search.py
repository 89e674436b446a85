"""Documents on a stage whose index is in S3 Vectors: written, found, and changed by another environment."""

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import Settings
from tests.surface.conftest import Connect
from tests.surface.results import call

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", ["vectors"], indirect=True)]


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
