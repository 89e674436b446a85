"""The server card, and the catalog that leads to it: through a socket, and through API Gateway's events."""

import json
import re
from pathlib import Path

import pytest
from mcp import Client

from loci.app import App
from loci.mcp.http.application import asgi
from loci.mcp.server import build_server
from tests.attack.doors import Door, lambda_doors, uvicorn_door
from tests.attack.wire import Answer, Ask
from tests.surface.conftest import on_both

pytestmark = pytest.mark.anyio
ENTRY = json.loads((Path(__file__).parents[2] / "server.json").read_text("utf-8"))
HOST = "localhost"


def get(door: Door, target: str, *headers: tuple[str, str], method: str = "GET") -> Answer:
    return door.ask(Ask(b"", (("Host", HOST), ("Connection", "close"), *headers), method, target))


def check(door: Door) -> None:
    found = get(door, "/.well-known/ai-catalog.json")
    assert (found.status, found.header("content-type")) == (200, "application/ai-catalog+json")
    [entry] = json.loads(found.body)["entries"]
    assert entry == {
        "identifier": f"urn:air:{HOST}:mcp:loci",
        "type": "application/mcp-server-card+json",
        "url": f"http://{HOST}/mcp/server-card",
    }
    origin = ("Origin", "https://anywhere.example")
    answer = get(door, "/mcp/server-card", origin)
    assert (answer.status, answer.header("content-type")) == (200, entry["type"])
    assert answer.header("access-control-allow-origin") == "*"
    assert answer.header("cache-control") == "public, max-age=3600"
    card = json.loads(answer.body)
    [remote] = card.pop("remotes")
    assert card.pop("$schema") == "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
    assert card == {name: ENTRY[name] for name in card}
    assert {"name", "version", "description"} <= card.keys()
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", card["name"])
    assert len(card["description"]) <= 100
    assert (remote["url"], remote["headers"]) == (f"http://{HOST}/mcp", ENTRY["remotes"][0]["headers"])
    assert remote["supportedProtocolVersions"][-1] == "2026-07-28"
    again = get(door, "/mcp/server-card", origin, ("If-None-Match", answer.header("etag") or ""))
    assert (again.status, again.body) == (304, b"")
    asked = get(door, "/mcp/server-card", origin, ("Access-Control-Request-Method", "GET"), method="OPTIONS")
    assert (asked.status, asked.header("access-control-allow-methods")) == (204, "GET")


@on_both
async def test_anybody_may_read_the_card_to_which_the_catalog_leads(app: App) -> None:
    with uvicorn_door(asgi(app)) as door:
        check(door)
    with lambda_doors(asgi(app)) as doors:
        for one in doors:
            check(one)


async def test_where_no_key_is_needed_none_is_asked_for(app: App) -> None:
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        [remote] = json.loads(get(door, "/mcp/server-card").body)["remotes"]
    assert "headers" not in remote


async def test_the_card_says_what_the_server_says(app: App) -> None:
    async with Client(build_server(app)) as client:
        told = client.server_info
        assert told is not None
        assert (told.version, told.title) == (ENTRY["version"], ENTRY["title"])
