"""Lambda functions as tool servers, through `tools/call`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from loci.gateway.ports import ToolServerError
from tests.support.connecting import LISTED, Connecting
from tests.surface.conftest import Connect
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio
on_aws = pytest.mark.parametrize("app", ["aws"], indirect=True)
HERE = Path(__file__).parents[3]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "adapter", "version": "1"}}


def stdio_server(event: dict[str, Any], _: object) -> dict[str, Any]:
    """Answer one message by a server of its own, as the adapters do that put MCP servers into functions."""
    if "id" not in event:
        return {}
    hello = {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": HELLO}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    command = [sys.executable, "-m", "tests.support.upstream_server"]
    with subprocess.Popen(command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        for message in (hello, ready, event):
            server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        answers = (json.loads(line) for line in server.stdout)
        answer = next(one for one in answers if one.get("id") == event["id"] and "method" not in one)
        server.stdin.close()
    return answer


@on_aws
async def test_a_function_is_a_tool_server(app: App, connect: Connect, function: Connecting) -> None:
    function.api.functions[LISTED] = stdio_server
    app.tools.add(LOCAL, "orders", {"lambda": LISTED})
    assert "add_numbers" in [one.name for one in app.tools.ask(LOCAL, "orders").tools]
    async with connect("tools") as client:
        assert structured(await client.call_tool("orders:add_numbers", {"a": 2, "b": 3})) == {"sum": 5}
        broken = await client.call_tool("orders:break_plate", {"plate": "steel"})
        assert (broken.is_error, texts(broken)) == (True, ["steel does not break"])


@on_aws
async def test_a_function_that_fails_says_why(app: App, function: Connecting) -> None:
    def failing(_: dict[str, Any], __: object) -> object:
        raise RuntimeError("no table")

    function.api.functions[LISTED] = failing
    app.tools.add(LOCAL, "orders", {"lambda": LISTED})
    with pytest.raises(ToolServerError, match="no table"):
        app.tools.ask(LOCAL, "orders")


@on_aws
async def test_a_function_that_the_stage_does_not_list_is_not_invoked(app: App, function: Connecting) -> None:
    for other in (LISTED.replace("orders", "loci-prod-connect"), f"{LISTED}:7"):
        function.api.functions[other] = stdio_server
        asked = len(function.api.events)
        app.tools.add(LOCAL, "orders", {"lambda": other})
        with pytest.raises(ToolServerError, match="not among the functions of this deployment"):
            app.tools.ask(LOCAL, "orders")
        assert all("jsonrpc" not in one for one in function.api.events[asked:])


async def test_on_a_laptop_a_function_says_where_it_can_be_added(app: App) -> None:
    app.tools.add(LOCAL, "orders", {"lambda": LISTED})
    with pytest.raises(ToolServerError, match="only a deployment on AWS"):
        app.tools.ask(LOCAL, "orders")
