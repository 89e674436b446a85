"""The list of tools, and what it tells a model."""

import json
from pathlib import Path

import pytest
from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.server.build import INSTRUCTIONS, build_server, doors
from loci.server.door import SURFACES, Surface, door
from loci.server.names import WIRE
from loci.settings import load_settings
from tests.surface.conftest import Connect

pytestmark = pytest.mark.anyio
SNAPSHOT = Path(__file__).with_name("tools.json")


async def test_the_listing_is_the_one_that_was_agreed(connect: Connect) -> None:
    """Renew it on purpose: python -m tests.surface.renew."""
    async with connect() as client:
        listed = [
            tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in (await client.list_tools()).tools
        ]
    assert listed == json.loads(SNAPSHOT.read_text("utf-8"))


async def test_every_tool_is_complete(app: App, connect: Connect) -> None:
    async with connect() as client:
        tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == {one.tool.name for one in doors(app)}
    for tool in tools:
        assert WIRE.fullmatch(tool.name)
        assert tool.title
        assert tool.description
        assert "Example: " in tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is not None
        assert tool.output_schema is not None
        assert tool.output_schema.get("additionalProperties", True) is True  # scratchpad_id may come on top
        for name, schema in tool.input_schema["properties"].items():
            assert schema.get("description"), f"{tool.name}.{name}"


async def test_every_endpoint_has_the_scratchpad(connect: Connect) -> None:
    for surface in SURFACES:
        async with connect(surface) as client:
            assert {"scratchpad_list", "scratchpad_read"} <= {tool.name for tool in (await client.list_tools()).tools}


async def test_a_subset_serves_its_own_tools_only(connect: Connect) -> None:
    def ping() -> str:
        """Answer."""
        return "pong"

    extra = (door(ping, title="Ping", surfaces=("files",)),)
    expected: dict[Surface, bool] = {"all": False, "documents": True, "files": False, "tools": True}
    for surface, is_error in expected.items():
        async with connect(surface, extra) as client:
            assert (await client.call_tool("ping", {})).is_error is is_error


async def test_the_instructions_are_short_enough_for_every_client() -> None:
    assert len(INSTRUCTIONS.encode()) <= 2048


@pytest.mark.parametrize("mode", ["legacy", "auto"])  # a client pinned to the newest revision does not ask for them
async def test_a_client_is_given_the_instructions(connect: Connect) -> None:
    async with connect() as client:
        assert client.instructions == INSTRUCTIONS


async def test_a_setting_lists_names_with_a_colon(tmp_path: Path) -> None:
    def ping() -> str:
        """Answer."""
        return "pong"

    app = build_app(load_settings({"data": tmp_path, "tool_names": "colon"}))
    async with Client(build_server(app, "all", [*doors(app), door(ping, title="Ping", id="pml:ping")])) as client:
        assert "pml:ping" in {tool.name for tool in (await client.list_tools()).tools}
        assert not (await client.call_tool("pml:ping", {})).is_error
        assert not (await client.call_tool("pml_ping", {})).is_error
