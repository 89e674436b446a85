"""Documents as MCP resources: listed, read by id, completed; each owner's own."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from mcp import MCPError
from mcp_types import TextResourceContents

from loci.app import App
from loci.core.identity import Owner
from loci.documents.resources import LISTED
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.ferries import BRIEF, DEBRIEF, HARBOUR, NOTES
from tests.surface.results import call, written
from tests.surface.runtimes import WITHOUT_SEARCH, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", WITHOUT_SEARCH, indirect=True)]


@pytest.fixture(autouse=True)
def folder(app: App, tmp_path: Path) -> Path:
    folder = written(tmp_path / "notes", NOTES)
    take_in(app, folder)
    app.documents.parts.library.add(Owner("", "somebody"), "secret.md", b"# Secret\n\n#hidden\n")
    return folder


async def read(connect: Connect, uri: str) -> str:
    async with connect("documents") as client:
        [content] = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert content.uri == uri
    return content.text


async def test_the_newest_documents_are_listed(connect: Connect) -> None:
    async with connect("documents") as client:
        listed = (await client.list_resources()).resources
    # The others say no date: theirs is the day on which they were written, today.
    assert [one.uri for one in listed[-2:]] == [f"loci://documents/{DEBRIEF}", f"loci://documents/{BRIEF}"]
    assert len(listed) == len(NOTES)
    assert (listed[-2].title, listed[-2].name) == ("The timetable", "notes/debriefs/2026-02-03-timetable.md")
    assert {one.mime_type for one in listed} == {"text/markdown"}


async def test_a_listing_is_bounded(app: App, connect: Connect, folder: Path) -> None:
    take_in(app, written(folder, {f"{number}.md": f"# {number}\n" for number in range(LISTED)}))
    async with connect("documents") as client:
        assert len((await client.list_resources()).resources) == LISTED


async def test_every_document_is_read_by_its_id(connect: Connect) -> None:
    async with connect("documents") as client:
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
    assert templates == ["loci://documents/{id}", "loci://tags/{tag}"]
    assert await read(connect, f"loci://documents/{HARBOUR}") == NOTES["harbour.md"]


async def test_what_is_read_as_a_resource_is_read(connect: Connect) -> None:
    await read(connect, f"loci://documents/{HARBOUR}")
    found = await call(connect, "suggest_reading", context="Where are tickets sold?")
    assert {one["id"]: one["read"] for one in found["documents"]}[HARBOUR] is True


async def test_a_tag_gives_its_documents_newest_first(connect: Connect) -> None:
    found = json.loads(await read(connect, "loci://tags/ferry"))
    assert [one["uri"] for one in found["documents"]] == [f"loci://documents/{id}" for id in (HARBOUR, DEBRIEF, BRIEF)]
    assert [one["date_from"] for one in found["documents"]] == ["file", "name", "name"]


async def test_the_documents_of_a_copy_that_say_no_date_are_listed_last(
    app: App, connect: Connect, folder: Path
) -> None:
    take_in(app, written(folder, {f"{number}.md": f"# {number}\n\n#ferry\n" for number in range(40)}))
    async with connect("documents") as client:
        listed = (await client.list_resources()).resources
    assert [one.uri for one in listed[:2]] == [f"loci://documents/{DEBRIEF}", f"loci://documents/{BRIEF}"]
    of_tag = json.loads(await read(connect, "loci://tags/ferry"))["documents"]
    assert [one["uri"] for one in of_tag[:2]] == [f"loci://documents/{DEBRIEF}", f"loci://documents/{BRIEF}"]
    rows = (await call(connect, "query_by_tags", tags=["ferry"]))["results"]
    assert [row["id"] for row in rows[:2]] == [DEBRIEF, BRIEF]


@each("uri", ["documents/notes-harbor", f"documents/{quote('../secret', safe='')}", "tags/none", "x"])
async def test_what_is_not_there_is_an_invalid_parameter(connect: Connect, uri: str) -> None:
    async with connect("documents") as client:
        with pytest.raises(MCPError) as failed:
            await client.read_resource(f"loci://{uri}")
    assert failed.value.code == -32602


async def test_nobody_sees_another_owner_s_documents(connect: Connect) -> None:
    async with connect("documents") as client:
        assert "secret" not in str((await client.list_resources()).resources)
        for uri in ("documents/secret", "tags/hidden"):
            with pytest.raises(MCPError):
                await client.read_resource(f"loci://{uri}")


async def test_other_endpoints_have_none(connect: Connect) -> None:
    async with connect("tools") as client:
        assert (await client.list_resources()).resources == []
        assert (await client.list_resource_templates()).resource_templates == []
