"""Calls of upstream tools, through `tools/call`."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult, ImageContent

from loci.app import App
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.core.json import Json
from loci.gateway.gateway import wire_spelling
from tests.support.each import each
from tests.support.upstream_server import PIXEL
from tests.surface.conftest import Connect, on_both
from tests.surface.results import error_of, structured, texts
from tests.surface.tools.conftest import hostile_entry, upstream, upstream_over_http

pytestmark = pytest.mark.anyio
SPELLINGS = ("shop:add_numbers", "shop_add_numbers", "mcp__shop__add_numbers", "Shop_Add_Numbers")


async def call(connect: Connect, tool: str, arguments: dict[str, Any] | None = None) -> CallToolResult:
    async with connect("tools") as client:
        return await client.call_tool(tool, arguments or {})


async def refused(connect: Connect, tool: str, arguments: dict[str, Any] | None = None) -> str:
    answer = await call(connect, tool, arguments)
    assert answer.is_error
    return texts(answer)[0]


@each("spelling", SPELLINGS)
async def test_a_tool_is_called_by_each_spelling_of_its_name(served: App, connect: Connect, spelling: str) -> None:
    answer = await call(connect, spelling, {"a": 2, "b": 3})
    assert structured(answer) == {"sum": 5}
    passed = await call(connect, "pml_call_tool", {"tool": spelling, "arguments": {"a": 2, "b": 3}})
    assert passed == answer


@on_both
async def test_a_picture_comes_back_as_it_was(served: App, connect: Connect) -> None:
    answer = await call(connect, "shop:draw_cat")
    assert texts(answer) == ["A cat."]
    [picture] = [one for one in answer.content if isinstance(one, ImageContent)]
    assert (picture.data, picture.mime_type) == (PIXEL, "image/png")


async def test_an_error_of_the_tool_is_its_own_result(served: App, connect: Connect) -> None:
    answer = await call(connect, "shop:break_plate", {"plate": "steel"})
    assert (answer.is_error, texts(answer)) == (True, ["steel does not break"])


async def test_arguments_that_do_not_fit_are_refused_before_anything_happens(served: App, connect: Connect) -> None:
    said = await refused(connect, "shop:add_numbers", {"a": "two"})
    assert said.startswith("INVALID_PARAMS: The arguments do not fit shop:add_numbers: ")
    assert "arguments.a: 'two' is not of type 'integer'" in said
    assert "'b' is a required property" in said


DRAFT_7 = "http://json-schema.org/draft-07/schema#"
ENDLESS = "(a+)+$"
HARMLESS: list[tuple[dict[str, Any], Any]] = [
    ({"uniqueItems": True}, [{"n": n} for n in range(20_000)]),
    ({"type": "array", "items": {"anyOf": [{"type": "string", "maxLength": n} for n in range(50)]}}, [""] * 20_000),
    ({"anyOf": [*[False] * 10_000, {"type": "array"}]}, [0] * 50_000),
    ({"patternProperties": {ENDLESS: {}}, "additionalProperties": False}, {"a" * 40 + "!": 1}),
    ({"$schema": DRAFT_7, "pattern": ENDLESS}, "a" * 40 + "!"),
    ({"$ref": DRAFT_7}, {"type": [{"n": n} for n in range(20_000)]}),
    ({"enum": [{"n": n} for n in range(20_000)], "$schema": DRAFT_7}, {"n": 5}),
    ({"type": [{"n": n} for n in range(20_000)]}, 5),
    ({"oneOf": [{"pattern": "^a"}, {"pattern": "^b"}]}, "b"),
    ({"not": {"pattern": "^_"}}, "b"),
    ({"multipleOf": 0.1}, 10**400),
    ({"$schema": ["x"]}, 5),
    ({"$schema": "http://["}, 5),
    ({"$ref": "#/properties/a"}, 5),
]
"""Schemas of a property, with a value that its server takes: a check of these would never end, or would be wrong."""


async def test_no_schema_of_a_server_stops_a_call_or_the_others(app: App, connect: Connect, tmp_path: Path) -> None:
    tools: list[dict[str, Any]] = [
        {"name": f"t{n}", "inputSchema": {"type": "object", "properties": {"a": schema}}}
        for n, (schema, _) in enumerate(HARMLESS)
    ]
    fields = [f"field {n}" for n in range(10_000)]
    tools.append({"name": "many", "inputSchema": {"type": "object", "required": fields}})
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    app.tools.add(LOCAL, "shop", hostile_entry("described", str(tmp_path / "tools.json")))
    app.tools.ask(LOCAL, "shop")
    for n, (schema, value) in enumerate(HARMLESS):
        answer = await call(connect, f"shop:t{n}", {"a": value})
        assert not answer.is_error, (str(schema)[:100], texts(answer)[0][:300])
    said = await refused(connect, "shop:many")
    assert "'field 4' is a required property" in said
    assert '"field 19"] and 9,980 more' in said
    assert len(said) < 1000


async def test_an_unknown_tool_is_told_with_the_nearest(served: App, connect: Connect) -> None:
    said = await refused(connect, "shop:add_number")
    assert said.startswith("TOOL_NOT_FOUND: There is no tool 'shop:add_number'")
    assert "shop:add_numbers" in said


async def test_a_name_that_no_tool_can_have_is_not_kept(served: App, connect: Connect) -> None:
    name = "x" * 1_000_000
    assert "TOOL_NOT_FOUND" in await refused(connect, name)
    kept = wire_spelling.cache_info()
    wire_spelling(name)
    assert wire_spelling.cache_info().hits == kept.hits


async def test_loci_s_own_tools_are_called_by_the_same_door(served: App, connect: Connect) -> None:
    listed = await call(connect, "scratchpad_list")
    passed = await call(connect, "pml_call_tool", {"tool": "scratchpad_list"})
    assert structured(passed) == structured(listed)
    said = await refused(connect, "pml_call_tool", {"tool": "scratchpad_read", "arguments": {"id": 3}})
    assert said.startswith("INVALID_PARAMS")


async def test_a_call_that_names_no_tool_is_refused(served: App, connect: Connect) -> None:
    bad: list[dict[str, Any]] = [
        {},
        {"tool": ""},
        {"tool": 3},
        {"tool": "x", "arguments": []},
        {"tool": "x", "args": {}},
    ]
    for arguments in bad:
        assert (await refused(connect, "pml_call_tool", arguments)).startswith("INVALID_PARAMS")
    again = {"tool": "pml_call_tool", "arguments": {"tool": "scratchpad_list"}}
    assert (await refused(connect, "pml_call_tool", again)).startswith("TOOL_NOT_FOUND")


async def test_the_operator_decides_which_tools_may_be_called(served: App, connect: Connect) -> None:
    served.tools.add(
        LOCAL, "shop", upstream_over_http() | {"deny": ["draw_*"], "allow": ["shop:draw_cat", "add_numbers"]}
    )
    served.tools.ask(LOCAL, "shop")
    assert structured(await call(connect, "shop:add_numbers", {"a": 1, "b": 1})) == {"sum": 2}
    for tool, why in (("shop:draw_cat", "denies"), ("shop:break_plate", "not among those")):
        said = await refused(connect, tool, {"plate": "china"})
        assert said.startswith(f"TOOL_DENIED: {tool} may not be called: ")
        assert why in said


@on_both
async def test_a_server_that_cannot_start_is_told_in_its_own_words(app: App, connect: Connect, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    app.tools.add(LOCAL, "shop", upstream(missing))
    answer = await call(connect, "shop:add_numbers", {"a": 1, "b": 1})
    assert answer.is_error
    error = error_of(answer)
    assert error["code"] == "MCP_SERVER_ERROR"
    assert "FileNotFoundError" in json.dumps(error)


@on_both
async def test_a_server_that_nobody_asked_yet_is_asked_by_the_first_call(app: App, connect: Connect) -> None:
    app.tools.add(LOCAL, "shop", upstream())
    assert structured(await call(connect, "shop:add_numbers", {"a": 1, "b": 1})) == {"sum": 2}


async def test_other_endpoints_have_no_upstream_tools(served: App, connect: Connect) -> None:
    async with connect("documents") as client:
        answer = await client.call_tool("shop:add_numbers", {"a": 1, "b": 1})
    assert texts(answer)[0].startswith("TOOL_NOT_FOUND")


async def test_a_variable_that_is_not_set_is_named(app: App, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "t")
    app.tools.add(LOCAL, "shop", upstream() | {"env": {"TOKEN": "${SHOP_TOKEN}", "PLACE": "${SHOP_PLACE:-here}"}})
    monkeypatch.delenv("SHOP_TOKEN")
    said = await refused(connect, "shop:add_numbers", {"a": 1, "b": 1})
    assert said.startswith("BAD_CONFIGURATION")
    assert "SHOP_TOKEN" in said


async def test_a_program_gets_the_way_to_the_network_of_this_machine_unless_told_not_to(
    app: App, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = {
        "HTTPS_PROXY": "http://ann:pr0xy-s3cret@proxy.example:3128",
        "no_proxy": "localhost",
        "NODE_EXTRA_CA_CERTS": "/etc/ours.pem",
        "SSL_CERT_FILE": "/etc/ours.pem",
    }
    for name, value in {**network, "OURS_TOKEN": "none of theirs"}.items():
        monkeypatch.setenv(name, value)
    app.tools.add(LOCAL, "far", hostile_entry())
    app.tools.add(LOCAL, "bare", {**hostile_entry(), "own_environment": True})
    async with connect("tools") as client:
        told = structured(await client.call_tool("far:environment", {}))
        bare = structured(await client.call_tool("bare:environment", {}))
    assert told["PATH"] == os.environ["PATH"]
    assert {name: told[name] for name in network} == {**network, "HTTPS_PROXY": "http://***@proxy.example:3128"}
    assert not (network.keys() | {"OURS_TOKEN"}) & bare.keys()
    assert "OURS_TOKEN" not in told


@on_both
async def test_each_client_session_has_its_own_connection_to_a_server_that_keeps_state(app: App) -> None:
    entry = {**hostile_entry(), "session_per_client": True}
    app.tools.add(LOCAL, "far", entry)

    def process(session: str) -> Json:
        return app.tools.value(replace(LOCAL_CALLER, session=session), "mcp", "far:process", {})

    first, other, again = process("a"), process("b"), process("a")
    assert first == again
    assert first != other
    app.tools.add(LOCAL, "far", hostile_entry())
    assert process("a") == process("b")
