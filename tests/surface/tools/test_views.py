"""Views of tool servers (MCP Apps): those that the operator trusts reach clients, and nothing of others does."""

import json
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import EmbeddedResource, ResourceLink, TextContent, TextResourceContents

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.gateway.offer import NO_VIEW
from loci.mcp.server import build_server
from loci.transfer.items import Receiver
from tests.servers.upstream.real import node_server
from tests.servers.upstream.showing import HUGE, LOCI, MAP, OLD_LINK, RULES, TYPE
from tests.support.archives import server as archived
from tests.support.each import each
from tests.surface.conftest import on_both
from tests.surface.results import error_of, structured, texts
from tests.surface.tools.conftest import listening_program

pytestmark = pytest.mark.anyio
AT_LOCI = "ui://loci/boats/boats/map"
NAMED = {"ui": {"resourceUri": AT_LOCI}, OLD_LINK: AT_LOCI}


@pytest.fixture(autouse=True)
def _all_tools_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client shows a view only for a tool that it has in a list."""
    monkeypatch.setenv("LOCI_TOOLS_LISTED", "*")


@pytest.fixture(scope="module")
def showing() -> Generator[dict[str, Any]]:
    with listening_program("tests.servers.upstream.showing") as entry:
        yield entry


def add(app: App, name: str, entry: dict[str, Any], *, trusted: bool = True) -> None:
    app.tools.add(LOCAL, name, entry, trust_views=trusted)
    app.tools.ask(LOCAL, name)


def client_of(app: App) -> Client:
    return Client(build_server(app, "tools"), mode="2026-07-28")


async def said_by(client: Client, server: str = "boats") -> str:
    """All that a client learns of the server's tools, resources, results and prompts, in small letters."""
    tools = [one for one in (await client.list_tools()).tools if one.name.startswith(server)]
    found = await client.call_tool("pml_search_tools", {"query": "boats map view", "limit": 50})
    parts = [
        *tools,
        *(await client.list_resources()).resources,
        await client.call_tool(f"{server}:show", {}),
        await client.get_prompt(f"{server}_look"),
        found,
    ]
    return " ".join(one.model_dump_json(by_alias=True) for one in parts).lower()


async def view(client: Client, address: str) -> TextResourceContents:
    [content] = (await client.read_resource(address)).contents
    assert isinstance(content, TextResourceContents)
    assert content.uri == address
    return content


def names_in(meta: dict[str, Any] | None) -> dict[str, Any]:
    """The names without what the SDK adds."""
    return {name: one for name, one in (meta or {}).items() if not name.startswith("io.modelcontextprotocol/")}


@on_both
async def test_a_trusted_view_is_named_listed_and_read_under_one_address(app: App, showing: dict[str, Any]) -> None:
    add(app, "boats", showing)
    async with client_of(app) as client:
        tools = {one.name: one.meta for one in (await client.list_tools()).tools if one.name.startswith("boats_")}
        assert tools["boats_show"] == NAMED
        assert tools["boats_count_boats"] == {**NAMED, "ui": {"resourceUri": AT_LOCI, "visibility": ["model"]}}
        assert tools["boats_sink"] is None
        listed = {one.uri: one for one in (await client.list_resources()).resources}
        assert (listed[AT_LOCI].mime_type, (listed[AT_LOCI].meta or {})["ui"]) == (TYPE, RULES)
        read = await view(client, AT_LOCI)
        assert read.text.startswith("<script>show(")
        assert (read.mime_type, read.meta) == (TYPE, {"loci/uri": MAP, "ui": RULES})
        assert structured(await client.call_tool("boats_is_shown", {})) == {"result": True}


@on_both
async def test_a_result_of_a_trusted_server_names_views_by_the_same_address(app: App, showing: dict[str, Any]) -> None:
    add(app, "boats", showing)
    async with client_of(app) as client:
        result = await client.call_tool("boats_show", {})
        prompt = await client.get_prompt("boats_look")
    said, page, link = result.content
    assert structured(result) == {"boats": 3}
    assert isinstance(said, TextContent)
    assert isinstance(page, EmbeddedResource)
    assert isinstance(link, ResourceLink)
    assert (names_in(result.meta), said.meta) == ({**NAMED, "trace": 1}, {"ui": NAMED["ui"], "trace": 2})
    assert (page.resource.uri, page.resource.meta, link.uri) == (AT_LOCI, {"ui": RULES, "trace": 3}, AT_LOCI)
    assert isinstance(inner := prompt.messages[0].content, EmbeddedResource)
    assert inner.resource.uri == AT_LOCI


UNTRUSTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "as all are": ({}, {}),
    "its entry claims it": ({"trust_views": True}, {}),
    "the environment claims it": ({"env": {"LOCI_TRUST_VIEWS": "true"}}, {}),
    "only its tools are passed on": ({"tools_only": True}, {"trust_views": True}),
}


@on_both
@each("case", [*UNTRUSTED])
async def test_nothing_of_another_view_passes(
    app: App, showing: dict[str, Any], monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setenv("LOCI_TRUST_VIEWS", "true")
    entry, more = UNTRUSTED[case]
    app.tools.add(LOCAL, "boats", showing | entry, **more)
    app.tools.ask(LOCAL, "boats")
    async with client_of(app) as client:
        if not entry.get("tools_only"):
            said = await said_by(client)
            assert "ui://" not in said
            assert "<b>here" not in said
            assert '"ui' not in said
        assert "boats_move_boats" in {one.name for one in (await client.list_tools()).tools}
        assert texts(await client.call_tool("boats_show", {}))[1:] == [NO_VIEW, NO_VIEW]
        for address in (AT_LOCI, f"loci://tools/boats/{MAP}", f"loci://tools/boats/{MAP.upper()}"):
            with pytest.raises(MCPError, match="TOOL_DENIED"):
                await client.read_resource(address)
        assert error_of(await client.call_tool("move_boats", {}))["code"] == "TOOL_NOT_FOUND"


async def test_no_view_passes_where_a_person_approves_each_call(tmp_path: Path, showing: dict[str, Any]) -> None:
    folders = {"data": tmp_path, "models": tmp_path / "models"}
    with closing(build_app(load_settings({**folders, "tools_approval": "all"}))) as app:
        add(app, "boats", showing)
        async with client_of(app) as client:
            assert "ui://loci/boats" not in " ".join(one.model_dump_json() for one in (await client.list_tools()).tools)
            with pytest.raises(MCPError, match="TOOL_DENIED"):
                await client.read_resource(AT_LOCI)


@each("pattern", ["ui://*", "boats:*", "map"])
async def test_patterns_hold_for_views(app: App, showing: dict[str, Any], pattern: str) -> None:
    add(app, "boats", showing | {"approve": [pattern]})
    async with client_of(app) as client:
        with pytest.raises(MCPError, match="TOOL_DENIED"):
            await client.read_resource(AT_LOCI)


async def test_trust_ends_with_the_next_entry_and_does_not_move(app: App, showing: dict[str, Any]) -> None:
    add(app, "boats", showing)
    assert "trust_views" not in app.tools.portable(LOCAL)["boats"].entry
    claims = archived("moved", {**showing, "trust_views": True})
    app.transfer.target(Receiver(LOCAL, programs=True)).store([claims])
    add(app, "boats", {**showing, "trust_views": True}, trusted=False)
    assert [one.entry.trust_views for one in app.tools.servers(LOCAL)] == [False, False]


async def test_only_views_are_told_of_the_tools_that_are_for_them(app: App, showing: dict[str, Any]) -> None:
    add(app, "boats", showing)
    async with client_of(app) as client:
        assert "boats_move_boats" not in {one.name for one in (await client.list_tools()).tools}
        search = {"query": "move the boats on the map", "limit": 50, "include_related": True}
        found = structured(await client.call_tool("pml_search_tools", search))["tools"]
        assert "boats:show" in {one["name"] for one in found}
        assert not {"boats:move_boats", "boats:pml_call_tool"} & {one["name"] for one in found}
        assert [one for one in found if one.get("kind") == "resource"] == []
        assert "move_boats" not in error_of(await client.call_tool("boats_move_boat", {}))["resolution"]
        for name in ("boats:move_boats", "boats_move_boats", "move_boats"):
            assert texts(await client.call_tool(name, {})) == ["moved"], name
        # A name of Loci's stays its own, and one that its server keeps from views is none of theirs.
        taken = await client.call_tool("pml_call_tool", {"tool": "boats:move_boats"})
        assert texts(taken) == ["moved"]
        assert error_of(await client.call_tool("count_boats", {}))["code"] == "TOOL_NOT_FOUND"
        add(app, "ships", showing)
        assert error_of(await client.call_tool("move_boats", {}))["code"] == "AMBIGUOUS_TOOL"


@each("rule", [{"deny": ["move_boats"]}, {"approve": ["move_boats"]}])
async def test_the_policy_holds_for_the_names_that_views_use(
    app: App, showing: dict[str, Any], rule: dict[str, Any]
) -> None:
    add(app, "boats", showing | rule)
    async with client_of(app) as client:
        assert error_of(await client.call_tool("move_boats", {}))["code"] in ("TOOL_DENIED", "APPROVAL_PENDING")


SPOKEN = {
    MAP: AT_LOCI,
    "ui://rogue/map": "ui://loci/boats/rogue/map",
    "ui://loci/rogue/boats/map": "ui://loci/boats/loci/rogue/boats/map",
    "UI://boats/map": None,
    " ui://boats/map": None,
}
"""What a result names, and where that leads if its server is trusted; None: nowhere."""


async def test_no_result_names_a_view_of_another_server(app: App, showing: dict[str, Any]) -> None:
    add(app, "boats", showing)
    add(app, "rogue", showing, trusted=False)
    async with client_of(app) as client:
        for uri, address in SPOKEN.items():
            _, page, link = (await client.call_tool("boats_show", {"uri": uri})).content
            assert [uri_of(link), uri_of(getattr(page, "resource", None))] == [address, address], uri
            refused = await client.call_tool("rogue_show", {"uri": uri})
            assert texts(refused)[1:] == [NO_VIEW, NO_VIEW], uri
            assert names_in(refused.meta) == {"trace": 1}


def uri_of(block: object) -> object:
    """The URI of a link or a resource; None for the text in its place."""
    return getattr(block, "uri", None)


ELSEWHERE = {
    MAP: "Unknown resource|not found|There is no",
    "ui://loci/boats": "Loci has no view",
    "ui://loci/boats/": "There is no resource",
    "ui://loci/nobody/boats/map": "There is no tool server",
    "ui://loci/rogue/boats/map": "TOOL_DENIED",
    "UI://loci/boats/boats/map": "Unknown resource|not found|There is no",
    f"loci://tools/boats/{MAP}": "TOOL_DENIED",
    f"loci://tools/boats/ {MAP}": "TOOL_DENIED",
    "loci://tools/boats/ui%3A%2F%2Fboats%2Fmap": "MCP_SERVER_ERROR",
    "loci://tools/rogue/ui%3A%2F%2Fboats%2Fmap": "MCP_SERVER_ERROR",
    "ui://loci/boats/boats/huge": "TOO_LARGE",
}
"""Addresses at which no view is, and the error."""


async def test_each_view_is_at_its_address_only(app: App, showing: dict[str, Any]) -> None:
    add(app, "boats", showing)
    add(app, "rogue", showing, trusted=False)
    async with client_of(app) as client:
        for address, error in ELSEWHERE.items():
            with pytest.raises(MCPError, match=error):
                await client.read_resource(address)
        assert HUGE.removeprefix("ui://") in "ui://loci/boats/boats/huge"
        # A server that takes Loci's name for its view has it below its own.
        borrowed = next(one for one in (await client.list_tools()).tools if one.name == "boats_borrow")
        address = "ui://loci/boats/" + LOCI.removeprefix("ui://")
        assert (borrowed.meta or {})["ui"] == {"resourceUri": address}
        assert (await view(client, address)).text == "<b>borrowed</b>"


async def test_a_view_that_has_changed_stays_at_its_address(app: App, showing: dict[str, Any]) -> None:
    add(app, "boats", showing)
    async with client_of(app) as client:
        await client.call_tool("boats_repaint", {"page": "<script>show('second')</script>"})
        read = await view(client, AT_LOCI)
        assert (read.text, read.meta) == ("<script>show('second')</script>", {"loci/uri": MAP, "ui": RULES})


async def test_the_view_of_an_official_server_is_shown_with_its_tool(app: App) -> None:
    program = node_server("system-monitor", "--stdio")
    add(app, "monitor", {"command": program.command, "args": [*program.args]})
    async with client_of(app) as client:
        tools = {one.name: one.meta for one in (await client.list_tools()).tools if one.name.startswith("monitor_")}
        address = "ui://loci/monitor/system-monitor/mcp-app.html"
        assert tools == {"monitor_get_system_info": {"ui": {"resourceUri": address}, OLD_LINK: address}}
        assert "<html" in (await view(client, address)).text
        polled = json.loads(texts(await client.call_tool("poll-system-stats", {}))[0])
        assert {"cpu", "memory"} <= polled.keys()
