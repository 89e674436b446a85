"""The SDK's client against the deployed gateway, in both protocol eras."""

from typing import Literal

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from loci.scratchpad.api import Scratchpad
from tests.deployed.deployment import Deployment, Door
from tests.deployed.users import User
from tests.surface.results import structured, texts

pytestmark = [pytest.mark.aws, pytest.mark.anyio]

LARGER_THAN_AN_ITEM = 600_000


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(("mode", "path"), [("legacy", "/mcp/tools"), ("2026-07-28", "/mcp")])
async def test_what_was_kept_is_read(
    door: Door, user: User, scratchpad: Scratchpad, mode: Literal["legacy", "2026-07-28"], path: str
) -> None:
    entry = scratchpad.keep(user.owner, "test", "kept text")
    http = create_mcp_http_client({**door.headers, **user.headers})
    async with http, Client(streamable_http_client(door.url + path, http_client=http), mode=mode) as client:
        assert texts(await client.call_tool("scratchpad_read", {"id": entry.id})) == ["kept text"]
        listing = structured(await client.call_tool("scratchpad_list", {}))
        assert entry.id in [each["id"] for each in listing["entries"]]


async def test_what_is_larger_than_an_item_is_read_whole(
    deployment: Deployment, user: User, scratchpad: Scratchpad
) -> None:
    text = "é" * LARGER_THAN_AN_ITEM
    entry = scratchpad.keep(user.owner, "test", text)
    door = deployment.door("REST API")
    http = create_mcp_http_client({**door.headers, **user.headers})
    async with http, Client(streamable_http_client(f"{door.url}/mcp", http_client=http)) as client:
        assert texts(await client.call_tool("scratchpad_read", {"id": entry.id})) == [text]
