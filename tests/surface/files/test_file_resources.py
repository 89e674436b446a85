"""Files as MCP resources: listed, read by id, completed; each owner's own."""

import json

import pytest
from mcp import MCPError
from mcp_types import TextResourceContents

from loci.app import App
from loci.core.identity import LOCAL, Owner
from loci.files.resources import LISTED
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.files.searches import add

pytestmark = pytest.mark.anyio


async def test_files_are_listed_with_their_names_and_summaries(connect: Connect, app: App) -> None:
    id = add(app, "boat.txt", "The boat to Hamburg leaves at noon")
    async with connect("files") as client:
        [listed] = (await client.list_resources()).resources
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
    assert (listed.uri, listed.name) == (f"loci://files/{id}", "boat.txt")
    assert listed.description == "The boat to Hamburg leaves at noon"
    assert templates == ["loci://files/{id}"]


async def test_a_listing_of_files_is_bounded(connect: Connect, app: App) -> None:
    for number in range(LISTED + 1):
        app.files.parts.lake.add(LOCAL, f"{number}.txt", b"x")
    async with connect("files") as client:
        assert len((await client.list_resources()).resources) == LISTED


async def test_a_file_is_read_as_its_facts(connect: Connect, app: App) -> None:
    id = add(app, "boat.md", "# Boats\n\nThe first")
    add(app, "boat.md", "# Boats\n\nThe second")
    async with connect("files") as client:
        [content] = (await client.read_resource(f"loci://files/{id}")).contents
    assert isinstance(content, TextResourceContents)
    facts = json.loads(content.text)
    assert (facts["name"], facts["status"], facts["version"], facts["num_chunks"]) == ("boat.md", "okay", 2, 1)
    assert [one["version"] for one in facts["history"]] == [1, 2]
    assert "presigned_url" not in facts


@each("uri", ["loci://files/ds-none", "loci://files/", "loci://files/..%2Fx"])
async def test_a_file_that_is_not_there_is_an_invalid_parameter(connect: Connect, uri: str) -> None:
    async with connect("files") as client:
        with pytest.raises(MCPError) as failed:
            await client.read_resource(uri)
    assert failed.value.code == -32602


async def test_nobody_sees_another_owner_s_files(connect: Connect, app: App) -> None:
    id = app.files.add(Owner("", "somebody"), "secret.txt", b"A secret").id
    async with connect("files") as client:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError):
            await client.read_resource(f"loci://files/{id}")


async def test_the_endpoint_of_everything_has_files_beside_documents(connect: Connect, app: App) -> None:
    id = add(app, "boat.txt", "The boat")
    app.documents.parts.library.add(LOCAL, "harbour.md", b"# The harbour\n")
    async with connect() as client:
        listed = {one.uri for one in (await client.list_resources()).resources}
    assert listed == {f"loci://files/{id}", "loci://documents/harbour"}
