"""What surrounds the use of tools: the record of what followed what, names, and a start with many servers."""

import asyncio
import random
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.core.stores import every
from loci.gateway.call_history import FOLLOWERS, MOST_FOLLOWERS
from loci.gateway.tool_list import LISTED
from loci.mcp.server import build_server
from tests.bench.figures import Figure, ratio_figure, time_figure
from tests.bench.servers import Servers
from tests.bench.workflows import JOURNAL

EDGES, USED, CALLS_A_RUN, RUNS, WRITES_A_CALL = 3000, 4000, 5, 40, 4
SERVERS, STARTS, LOOKS = 10, 9, 200
MOST_SECONDS, MOST_NOTED, MOST_RATIO, MOST_NAMED = 0.005, 0.001, 1.3, 1.5
HANGS = {"command": sys.executable, "args": ["-c", "import time; time.sleep(600)"]}


def tool_use(_: Servers) -> list[Figure]:
    return [*_recorded(), _named(), _started()]


def _recorded() -> list[Figure]:
    """Calls in a graph of 3,000 edges. The floor: as many small records, written."""
    tools = [f"server:tool_{number}" for number in range(EDGES // MOST_FOLLOWERS)]
    floor, recorded, noted = list[float](), list[float](), list[float]()
    with _app(0) as app:
        usage, later, choose = app.tools.parts.usage, app.tools.parts.later, random.Random(1)
        for _ in range(USED):
            usage.record(LOCAL, choose.choice(tools), worked=True)
        later.finish()
        edges = sum(len(one.value["followers"]) for one in every(app.records, LOCAL, FOLLOWERS))  # type: ignore[arg-type]
        for _ in range(RUNS):
            began = time.perf_counter()
            for number in range(CALLS_A_RUN * WRITES_A_CALL):
                app.records.put(LOCAL, "bench", str(number), {"text": "x" * 2000}, durable=False)
            between = time.perf_counter()
            for _ in range(CALLS_A_RUN):
                usage.record(LOCAL, choose.choice(tools), worked=True)
            after = time.perf_counter()
            later.finish()
            floor.append(between - began)
            noted.append((after - between) / CALLS_A_RUN)
            recorded.append(time.perf_counter() - between)
    return [
        time_figure(f"recording a run of {CALLS_A_RUN} calls, {edges:,} edges", floor, recorded, MOST_SECONDS),
        time_figure("what a call waits for of it", [one / CALLS_A_RUN for one in floor], noted, MOST_NOTED),
    ]


def _named() -> Figure:
    """The tool behind the name that a client calls, with a server and with many. Each has 15 tools."""
    alone, many = list[float](), list[float]()
    with _app(0) as app, TemporaryDirectory() as folder:
        entry = {"command": sys.executable, "args": [str(JOURNAL), str(Path(folder) / "journal")]}
        app.tools.add(LOCAL, "journal", entry)
        app.tools.ask(LOCAL, "journal")
        listed = app.records.get(LOCAL, LISTED, "journal")
        for seconds in (alone, many):
            for _ in range(LOOKS):
                began = time.process_time()
                assert app.tools.gateway.find(LOCAL, "journal_echo")
                seconds.append(time.process_time() - began)
            for number in range(SERVERS):
                app.tools.add(LOCAL, f"other{number}", entry)
                app.records.put(LOCAL, LISTED, f"other{number}", listed.value if listed else {})
    return ratio_figure(f"a tool behind its name, {SERVERS} more servers beside none: CPU", alone, many, MOST_NAMED)


def _started() -> Figure:
    """The list of tools, and a search among them, with servers that never answer."""
    alone, many = list[float](), list[float]()
    for _ in range(STARTS):
        for count, seconds in ((0, alone), (SERVERS, many)):
            with _app(count) as app:
                began = time.perf_counter()
                asyncio.run(_asked(app))
                seconds.append(time.perf_counter() - began)
    return ratio_figure(f"start with {SERVERS} servers that hang, beside none", alone[1:], many[1:], MOST_RATIO)


async def _asked(app: App) -> None:
    async with Client(build_server(app)) as client:
        await client.list_tools()
        await client.call_tool("pml_search_tools", {"query": "read a file"})


@contextmanager
def _app(servers: int) -> Generator[App]:
    """As a person starts it whose servers are configured."""
    with TemporaryDirectory() as folder:
        settings = load_settings({"data": Path(folder) / "data", "models": Path(folder) / "models"})
        app = build_app(settings)
        for number in range(servers):
            app.tools.add(LOCAL, f"server{number}", HANGS)
        app.close()
        app = build_app(settings)
        try:
            yield app
        finally:
            app.close()
