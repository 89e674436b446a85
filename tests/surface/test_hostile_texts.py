"""Texts that have stopped a server, through the tools: each is written, found and removed like any other."""

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call
from tests.surface.runtimes import RUNTIMES
from tests.unit.linear.shapes import KNOWN, repeated

pytestmark = pytest.mark.anyio
SIZE = 100_000


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
@each("name", KNOWN)
async def test_what_has_stopped_a_server_is_written_and_found(app: App, connect: Connect, name: str) -> None:
    text = f"{repeated(*KNOWN[name])(SIZE)}\n\nstrawberry\n"
    made = await call(connect, "write_document", path="notes/a.md", content=text)
    found = await call(connect, "search_documents", query="strawberry")
    assert [one["id"] for one in found["results"]] == [made["id"]]
    [document] = app.documents.parts.library.documents(LOCAL)
    assert [one.what for one in document.problems if "front matter" not in one.what] == []
    app.documents.parts.library.remove(LOCAL, [document])
