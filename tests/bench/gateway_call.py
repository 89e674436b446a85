"""A call of another server's tool: through the gateway, with the official client alone, and through a bare proxy."""

import asyncio
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client, StdioServerParameters

from loci.compose import build_app
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.core.settings import load_settings
from loci.gateway.api import Tools
from loci.gateway.tool_server import Endpoint, Program
from tests.bench.children import serving
from tests.bench.figures import Figure, ratio_figure
from tests.bench.servers import ROOT, Servers
from tests.servers.upstream.real import everything_over_http, node_server

MOST = 1.5
MOST_OF_PROXY = {"stdio": 1.3, "HTTP": 1.0}
ROUNDS, CALLS = 40, 50


def gateway_call(stage: Servers) -> list[Figure]:
    program = node_server("everything", "stdio")
    figures = [asyncio.run(_compared("stdio", program)), asyncio.run(_beside_proxy(stage, "stdio", program))]
    with everything_over_http() as endpoint:
        figures += [asyncio.run(_compared("HTTP", endpoint)), asyncio.run(_beside_proxy(stage, "HTTP", endpoint))]
    return figures


async def _beside_proxy(stage: Servers, wire: str, reach: Program | Endpoint) -> Figure:
    """A client's call through Loci on that wire, and through a bare proxy, whose client speaks stdio."""
    place = [reach.command, *reach.args] if isinstance(reach, Program) else [reach.url]
    proxy = StdioServerParameters(
        command=sys.executable, args=["-m", "tests.bench.bare_proxy", *place], cwd=ROOT, env=stage.bare.environment()
    )
    bare, loci = list[float](), list[float]()
    with TemporaryDirectory() as folder, ExitStack() as stack:
        with _tools(reach, folder):
            pass
        env = {**stage.loci.env, "LOCI_DATA": f"{folder}/data", "LOCI_TOOLS_LISTED": "everything:*"}
        serve = (sys.executable, "-m", "loci", "serve", "--no-models")
        server = replace(stage.loci, env=env, serve=(*serve, "--port", "0"))
        target: StdioServerParameters | str = StdioServerParameters(
            command=serve[0], args=[*serve[1:], "--stdio"], env=server.environment()
        )
        if wire == "HTTP":
            target = f"http://127.0.0.1:{stack.enter_context(serving(server)).port}/mcp"
        async with Client(proxy) as one, Client(target) as other:
            for _ in range(ROUNDS // 2):
                bare.append(await _direct(one))
                loci.append(await _direct(other, "everything_echo"))
    what = f"the same, of a client over {wire}, beside a bare proxy's over stdio: time"
    return ratio_figure(what, bare[1:], loci[1:], MOST_OF_PROXY[wire])


async def _compared(wire: str, reach: Program | Endpoint) -> Figure:
    """The official client lives in this loop, and rests while Loci is asked."""
    target = (
        StdioServerParameters(command=reach.command, args=[*reach.args]) if isinstance(reach, Program) else reach.url
    )
    bare, loci = list[float](), list[float]()
    with TemporaryDirectory() as folder, _tools(reach, folder) as tools:
        async with Client(target) as client:
            for _ in range(ROUNDS):
                bare.append(await _direct(client))
                loci.append(_timed(lambda: tools.call(LOCAL_CALLER, "cli", "everything:echo", {"message": "hello"})))
    return ratio_figure(f"call of a tool server's tool: time, over {wire}", bare[1:], loci[1:], MOST)


async def _direct(client: Client, tool: str = "echo") -> float:
    began = time.perf_counter()
    for _ in range(CALLS):
        await client.call_tool(tool, {"message": "hello"})
    return (time.perf_counter() - began) / CALLS


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - began) / CALLS


@contextmanager
def _tools(reach: Program | Endpoint, folder: str) -> Generator[Tools]:
    app = build_app(load_settings({"data": Path(folder) / "data", "models": Path(folder) / "models"}))
    at = {"command": reach.command, "args": [*reach.args]} if isinstance(reach, Program) else {"url": reach.url}
    app.tools.add(LOCAL, "everything", at)
    app.tools.ask(LOCAL, "everything")
    try:
        yield app.tools
    finally:
        app.close()
