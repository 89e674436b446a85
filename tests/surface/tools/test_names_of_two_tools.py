"""Two tools whose ids are spelled the same for clients: no server answers calls that are meant for another."""

from pathlib import Path

import pytest
from mcp import Client

from loci.app import App
from loci.core.identity import LOCAL
from loci.mcp.server import build_server
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import error_of, structured, texts
from tests.surface.tools.conftest import hostile_entry, shop_app

pytestmark = pytest.mark.anyio
BOTH = ("notion:work_echo", "notion_work:echo")


@pytest.fixture
def two(app: App) -> App:
    """`notion` has a tool whose id is spelled like one of `notion_work`."""
    add_two(app)
    return app


def add_two(app: App) -> None:
    app.tools.add(LOCAL, "notion", hostile_entry("named", "work_echo"))
    app.tools.add(LOCAL, "notion_work", hostile_entry())
    for name in ("notion", "notion_work"):
        app.tools.ask(LOCAL, name)


async def test_a_name_that_may_mean_two_tools_is_refused_with_the_names_of_both(two: App, connect: Connect) -> None:
    async with connect("tools") as client:
        answer = await client.call_tool("notion_work_echo", {"n": 1})
    assert answer.is_error
    error = error_of(answer)
    assert error["code"] == "AMBIGUOUS_TOOL"
    assert all(one in error["resolution"] for one in BOTH)


async def test_a_search_tells_the_id_of_each_by_which_it_alone_is_called(two: App, connect: Connect) -> None:
    async with connect("tools") as client:
        said = [texts(await client.call_tool(one, {"n": 1}))[0] for one in BOTH]
        none = await client.call_tool("notion:work_garbage", {})  # a tool of the other server
        answer = structured(await client.call_tool("pml_search_tools", {"query": "notion work echo", "limit": 50}))
    ids = {one["name"]: one["tool_id"] for one in answer["tools"]}
    assert [ids[one] for one in BOTH] == [*BOTH]
    assert ids["notion_work:garbage"] == "notion_work_garbage"
    assert said == ["I am another", '{"n": 1}']
    assert texts(none)[0].startswith("TOOL_NOT_FOUND")


@each(("names", "shown"), [("wire", set[str]()), ("colon", {"notion_work:echo"})])
async def test_one_that_is_listed_is_the_one_that_is_called(tmp_path: Path, names: str, shown: set[str]) -> None:
    with shop_app(tmp_path / names, tools_listed="notion_work:echo", tool_names=names) as other:
        add_two(other)
        async with Client(build_server(other, "tools"), mode="2026-07-28") as client:
            listed = {one.name for one in (await client.list_tools()).tools if one.name.startswith("notion")}
    assert listed == shown
