"""Workflows: what runs beside what, and what a task costs beside a plain call of its tool."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from tests.bench.figures import Figure, ratio_figure, time_figure
from tests.bench.servers import Servers

JOURNAL = Path(__file__).parents[1] / "servers" / "upstream" / "journal.py"
ROUNDS, NO_OPS = 12, 30
MOST_RATIO = 1.5


def workflows(_: Servers) -> list[Figure]:
    with _app() as app:
        return asyncio.run(_measured(app))


async def _measured(app: App) -> list[Figure]:
    beside = [_sleep(f"t{at}", 100) for at in range(5)]
    uneven = [_sleep("a", 10), _sleep("b", 300, "a"), _sleep("c", 300)]
    many = [_sleep(f"t{at}", 10) for at in range(30)]
    async with _bare() as bare, Client(build_server(app, "tools"), mode="2026-07-28") as client:
        both = _Both(bare, client)
        return [
            await both.timed("5 tasks of 100 ms beside each other", beside, 0.105, 1.05),
            await both.timed("10 ms, then 300 ms, beside 300 ms", uneven, 0.320, 320 / 310),
            await both.timed("30 tasks of 10 ms of one tool", many, 0.060, 2),
            await _compared(client, "a task that reads nothing, beside a call", "echo"),
            await _compared(client, "a task that writes nothing, beside a call", "note"),
        ]


class _Both:
    """A workflow, and the same calls as the official client makes them to the same server, with nothing between."""

    def __init__(self, bare: Client, client: Client) -> None:
        self._bare = bare
        self._client = client

    async def timed(self, name: str, tasks: list[dict[str, Any]], most: float, most_ratio: float) -> Figure:
        floor, seconds = list[float](), list[float]()
        for _ in range(ROUNDS):
            began = time.perf_counter()
            await self._called(tasks)
            floor.append(time.perf_counter() - began)
            seconds.append(await _run(self._client, tasks))
        return time_figure(name, floor[1:], seconds[1:], most, most_ratio=most_ratio)

    async def _called(self, tasks: list[dict[str, Any]]) -> None:
        calls = dict[str, asyncio.Task[None]]()

        async def call(task: dict[str, Any]) -> None:
            for one in task["dependsOn"]:
                await calls[one]
            await self._bare.call_tool("sleep", task["arguments"])

        for task in tasks:
            calls[task["id"]] = asyncio.create_task(call(task))
        await asyncio.gather(*calls.values())


async def _compared(client: Client, name: str, tool: str) -> Figure:
    """No task waits for another, and no call either: each is what it costs."""
    plain, task = list[float](), list[float]()
    tasks = [{"id": f"t{at}", "tool": f"journal:{tool}", "arguments": {"value": at}} for at in range(NO_OPS)]
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for at in range(NO_OPS):
            await client.call_tool(f"journal_{tool}", {"value": at})
        plain.append((time.perf_counter() - began) / NO_OPS)
        task.append(await _run(client, tasks) / NO_OPS)
    return ratio_figure(f"{name} of its tool: time", plain[1:], task[1:], MOST_RATIO)


async def _run(client: Client, tasks: list[dict[str, Any]]) -> float:
    began = time.perf_counter()
    result = await client.call_tool("pml_execute_dag", {"workflow": {"tasks": tasks}})
    seconds = time.perf_counter() - began
    assert (result.structured_content or {})["status"] == "complete", result
    return seconds


def _sleep(id: str, ms: int, *after: str) -> dict[str, Any]:
    return {"id": id, "tool": "journal:sleep", "arguments": {"ms": ms}, "dependsOn": [*after]}


@asynccontextmanager
async def _bare() -> AsyncGenerator[Client]:
    with TemporaryDirectory() as folder:
        program = StdioServerParameters(command=sys.executable, args=[str(JOURNAL), str(Path(folder) / "journal")])
        async with Client(stdio_client(program)) as client:
            await client.list_tools()
            yield client


@contextmanager
def _app() -> Generator[App]:
    with TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        app = build_app(load_settings({"data": data, "models": Path(folder) / "models", "log_level": "ERROR"}))
        app.tools.add(LOCAL, "journal", {"command": sys.executable, "args": [str(JOURNAL), str(data / "journal")]})
        app.tools.ask(LOCAL, "journal")
        try:
            yield app
        finally:
            app.close()
