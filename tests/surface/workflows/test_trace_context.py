"""The trace of a client goes on to tool servers, whether Loci sends spans of its own or not; baggage never does."""

import json
import sys
from typing import Any

import pytest

from loci.core.identity import LOCAL
from tests.e2e.test_tracing import TELLING
from tests.surface.conftest import Connect, on_both
from tests.surface.results import structured, texts
from tests.surface.workflows.conftest import Flow

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@on_both
@pytest.mark.anyio
async def test_a_tool_server_gets_the_trace_of_the_client_also_by_a_plan(flow: Flow, connect: Connect) -> None:
    app = flow.app
    app.tools.add(LOCAL, "shop", {"command": sys.executable, "args": ["-c", TELLING]})
    app.tools.ask(LOCAL, "shop")
    meta: Any = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01", "tracestate": "vendor=1", "baggage": "user=ann"}
    tasks = [{"id": "one", "tool": "shop:told", "arguments": {"word": "a"}}]
    async with connect("tools") as client:
        direct = await client.call_tool("shop_told", {"word": "a"}, meta=meta)
        plain = await client.call_tool("shop_told", {"word": "a"}, meta={"traceparent": "no trace", "tracestate": "x"})
        planned = await client.call_tool("pml_execute_dag", {"workflow": {"tasks": tasks}}, meta=meta)
    for told in (json.loads(texts(direct)[0]), json.loads(structured(planned)["results"]["one"])):
        assert told["traceparent"].split("-")[1] == TRACE, told
        assert (told["tracestate"], "baggage" in told) == ("vendor=1", False)
    assert "traceparent" not in json.loads(texts(plain)[0])
