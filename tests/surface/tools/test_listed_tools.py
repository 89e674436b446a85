"""Upstream tools that are listed beside Loci's own."""

import json
from pathlib import Path

import pytest
from mcp import Client
from mcp_types import Tool

from loci.app import App
from loci.core.identity import LOCAL, Owner
from loci.mcp.http.application import asgi
from loci.mcp.server import build_server
from loci.mcp.tool import Surface
from tests.attack.doors import uvicorn_door
from tests.attack.wire import modern
from tests.support.each import each
from tests.support.polling import until
from tests.surface.tools.conftest import shop_app, upstream, upstream_over_http

pytestmark = pytest.mark.anyio
ANN = Owner("acme", "ann")


async def listed(app: App, surface: Surface = "tools") -> dict[str, Tool]:
    async with Client(build_server(app, surface), mode="2026-07-28") as client:
        return {one.name: one for one in (await client.list_tools()).tools}


async def test_by_default_only_loci_s_own_tools_are_listed(tmp_path: Path) -> None:
    with shop_app(tmp_path) as app:
        assert not [name for name in await listed(app) if name.startswith("shop")]


@each("surface", ["all", "tools"])
async def test_a_setting_lists_chosen_tools(tmp_path: Path, surface: Surface) -> None:
    with shop_app(tmp_path / surface, tools_listed="shop:add_*,shop:draw_cat") as app:
        names = [name for name in await listed(app, surface) if name.startswith("shop")]
    assert names == ["shop_add_numbers", "shop_draw_cat"]


async def test_loci_s_own_tools_stay_listed_as_they_are(tmp_path: Path) -> None:
    with shop_app(tmp_path / "with", tools_listed="shop:*") as app, shop_app(tmp_path / "without") as plain:
        both, own = await listed(app), await listed(plain)
    assert {name: one for name, one in both.items() if name in own} == own


async def test_a_listed_tool_has_its_schema_and_one_plain_line_and_is_called_by_its_name(tmp_path: Path) -> None:
    with shop_app(tmp_path, tools_listed="shop:*") as app:
        tools = await listed(app)
        assert not [name for name in await listed(app, "documents") if name.startswith("shop")]
        async with Client(build_server(app, "tools"), mode="2026-07-28") as client:
            await client.list_tools()
            assert not (await client.call_tool("shop_add_numbers", {"a": 1, "b": 1})).is_error
    assert set(tools["shop_add_numbers"].input_schema["properties"]) == {"a", "b"}
    assert tools["shop_add_numbers"].output_schema is None
    assert tools["shop_add_numbers"].annotations is not None
    assert tools["shop_add_numbers"].annotations.read_only_hint is True
    assert (tools["shop_advise"].description or "").isprintable()


async def test_with_colon_names_it_is_listed_by_its_id(tmp_path: Path) -> None:
    with shop_app(tmp_path, tools_listed="shop:add_numbers", tool_names="colon") as app:
        assert "shop:add_numbers" in await listed(app)


async def test_a_tool_that_may_not_be_called_is_not_listed(tmp_path: Path) -> None:
    with shop_app(tmp_path, {"deny": ["draw_*"]}, tools_listed="shop:*") as app:
        assert "shop_draw_cat" not in await listed(app)


async def test_a_name_of_loci_s_own_tools_is_not_listed_twice(tmp_path: Path) -> None:
    with shop_app(tmp_path, tools_listed="*") as app:
        app.tools.add(LOCAL, "find", upstream_over_http())
        app.tools.ask(LOCAL, "find")
        async with Client(build_server(app), mode="2026-07-28") as client:
            names = [one.name for one in (await client.list_tools()).tools]
    assert (names.count("find_gaps"), names.count("find_advise")) == (1, 1)


async def test_a_dead_server_holds_up_no_listing(tmp_path: Path) -> None:
    with shop_app(tmp_path, tools_listed="*") as app:
        app.tools.add(LOCAL, "dead", upstream(str(tmp_path / "missing")))
        assert "shop_add_numbers" in await listed(app)
        until(lambda: app.tools.get(LOCAL, "dead").failure)  # nothing of its start outlives the test


def test_nobody_is_shown_another_owner_s_tools(tmp_path: Path) -> None:
    with shop_app(tmp_path, tools_listed="*", auth="required", allowed_hosts="api.example.com") as app:
        keys = {name: app.api_keys.create(owner, name)[1] for name, owner in (("me", LOCAL), ("ann", ANN))}
        with uvicorn_door(asgi(app)) as door:
            shown = {name: door.ask(modern("tools/list", {}, key)).body for name, key in keys.items()}
    assert {name: b"shop_add_numbers" in body for name, body in shown.items()} == {"me": True, "ann": False}
    assert {json.loads(body)["result"]["cacheScope"] for body in shown.values()} == {"private"}
