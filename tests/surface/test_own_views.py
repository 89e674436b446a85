"""Views of Loci's own tools (MCP Apps): the listing names them, and each is one page that needs nothing else."""

import re

import pytest
from mcp import MCPError
from mcp_types import TextResourceContents

from loci.mcp.tool import OWN_TOOLS
from loci.mcp.views import VIEW_TYPE, VIEWS
from tests.surface.conftest import Connect, on_both

pytestmark = pytest.mark.anyio
LARGEST = 60_000
NAMED = {
    "search_documents": "results",
    "search_memory": "results",
    "explore_links": "graph",
    "graph_neighbors": "graph",
    "query_table": "table",
    "run_memory_code": "figure",
    "pml_call_tool": "approval",
    "pml_execute_dag": "run",
    "pml_workflow_status": "run",
}


@on_both
async def test_each_view_is_one_small_page_that_every_endpoint_serves(connect: Connect) -> None:
    named: dict[str, str] = {}
    for surface in ("all", *OWN_TOOLS):
        async with connect(surface) as client:
            tools = (await client.list_tools()).tools
            views = {one.name: one.meta["ui"]["resourceUri"] for one in tools if one.meta and "ui" in one.meta}
            named |= views
            for uri in {*views.values()}:
                [page] = (await client.read_resource(uri)).contents
                assert isinstance(page, TextResourceContents)
                assert (page.uri, page.mime_type) == (uri, VIEW_TYPE)
                assert len(page.text.encode()) <= LARGEST
                assert not re.search(r"\b(?:src|href)=|@import|url\(", page.text)
    assert {*named.values()} == {f"ui://loci/{one}" for one in VIEWS}
    assert {name: named[name].removeprefix("ui://loci/") for name in NAMED} == NAMED


@on_both
async def test_an_address_that_is_no_view_says_which_there_are(connect: Connect) -> None:
    async with connect("all") as client:
        with pytest.raises(MCPError, match=r"Loci has no view 'resultz'.*results"):
            await client.read_resource("ui://loci/resultz")
        assert not [one for one in (await client.list_resources()).resources if str(one.uri).startswith("ui:")]
