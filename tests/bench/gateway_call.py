"""A call of another server's tool: through the gateway, and with the official client alone."""

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client, StdioServerParameters

from loci.compose import build_app
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.core.settings import load_settings
from loci.gateway.api import Tools
from loci.gateway.tool_server import Endpoint, Program
from tests.bench.figures import Figure, ratio_figure
from tests.bench.servers import Servers
from tests.servers.upstream.real import everything_over_http, node_server

MOST = 1.5
ROUNDS, CALLS = 40, 50


def gateway_call(_: Servers) -> list[Figure]:
    program = node_server("everything", "stdio")
    figures = [asyncio.run(_compared("stdio", program))]
    with everything_over_http() as endpoint:
        return [*figures, asyncio.run(_compared("HTTP", endpoint))]


async def _compared(wire: str, reach: Program | Endpoint) -> Figure:
    """The official client lives in this loop, and rests while Loci is asked."""
    target = (
        StdioServerParameters(command=reach.command, args=[*reach.args]) if isinstance(reach, Program) else reach.url
    )
    bare, loci = list[float](), list[float]()
    with _tools(reach) as tools:
        async with Client(target) as client:
            for _ in range(ROUNDS):
                bare.append(await _direct(client))
                loci.append(_timed(lambda: tools.call(LOCAL_CALLER, "cli", "everything:echo", {"message": "hello"})))
    return ratio_figure(f"call of a tool server's tool: time, over {wire}", bare[1:], loci[1:], MOST)


async def _direct(client: Client) -> float:
    began = time.perf_counter()
    for _ in range(CALLS):
        await client.call_tool("echo", {"message": "hello"})
    return (time.perf_counter() - began) / CALLS


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - began) / CALLS


@contextmanager
def _tools(reach: Program | Endpoint) -> Generator[Tools]:
    with TemporaryDirectory() as folder:
        app = build_app(load_settings({"data": Path(folder) / "data", "models": Path(folder) / "models"}))
        at = {"command": reach.command, "args": [*reach.args]} if isinstance(reach, Program) else {"url": reach.url}
        app.tools.add(LOCAL, "everything", at)
        app.tools.ask(LOCAL, "everything")
        try:
            yield app.tools
        finally:
            app.close()
