"""Tool servers on AWS, where Loci reaches only public ones: as it is deployed."""

from collections.abc import Iterator
from typing import Any

import pytest

from loci.app import App
from loci.core.errors import LociError, Refused
from loci.core.identity import LOCAL
from loci.gateway.tool_list import SERVER
from tests.support.connecting import Connecting, connecting
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import error_of
from tests.surface.tools.conftest import upstream

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", ["aws"], indirect=True)]


@pytest.fixture
def function(app: App) -> Iterator[Connecting]:
    """What reaches the servers."""
    with connecting(only_public=True) as function:
        yield function


@each(
    ("entry", "why"),
    [
        ({"command": "npx", "args": ["-y", "server"]}, "Loci starts no programs on AWS"),
        ({"url": "http://mcp.example.com/mcp"}, "must begin with https://"),
        ({"url": "https://10.1.2.3/mcp"}, "is not public"),
        ({"url": "https://127.0.0.1:8443/mcp"}, "is not public"),
        ({"url": "https://169.254.169.254/latest"}, "is not public"),
        ({"url": "https://[fd00:ec2::254]/mcp"}, "is not public"),
        ({"url": "https://[::ffff:10.0.0.1]/mcp"}, "is not public"),
    ],
)
async def test_a_server_that_aws_does_not_reach_is_refused_when_it_is_added(
    app: App, entry: dict[str, Any], why: str
) -> None:
    with pytest.raises(Refused, match=why) as refused:
        app.tools.add(LOCAL, "notes", entry)
    assert "Run it where it has a public https address" in refused.value.resolution
    assert app.tools.servers(LOCAL) == []


async def test_a_name_that_leads_inside_is_refused_by_the_function(
    app: App, function: Connecting, connect: Connect
) -> None:
    app.tools.add(LOCAL, "notes", {"url": "https://localhost/mcp"})
    async with connect("tools") as client:
        answer = await client.call_tool("notes:read", {})
    error = error_of(answer)
    assert (error["code"], "its address is not public" in error["message"]) == ("MCP_SERVER_ERROR", True)
    assert {event["server"] for event in function.api.events} == {"notes"}


async def test_a_program_that_got_into_the_records_is_not_started(app: App, function: Connecting) -> None:
    app.records.put(LOCAL, SERVER, "shop", upstream())
    with pytest.raises(LociError, match="only servers with an https address"):
        app.tools.ask(LOCAL, "shop")
