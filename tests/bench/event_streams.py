"""Events: how long one is on its way to an open page, and what they add to a call."""

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from loci.mcp.server import build_server
from loci.workflows.plan import Plan
from loci.workflows.run import Run, TaskState
from tests.attack.doors import uvicorn_door
from tests.bench.figures import Figure, added_figure, time_figure
from tests.bench.servers import Servers

MOST = 0.1
"""Seconds from a transition to an open page."""
ROUNDS, CALLS = 30, 100


def event_streams(_: Servers) -> list[Figure]:
    with TemporaryDirectory() as folder:
        app = build_app(load_settings({"data": Path(folder) / "data", "models": Path(folder) / "models"}))
        try:
            return [_transitions(app), asyncio.run(_calls(app))]
        finally:
            app.close()


def _transitions(app: App) -> Figure:
    """A run changes its state; an open stream tells it."""
    arrived: Queue[tuple[str, float]] = Queue()
    runs = app.workflows.parts.runs
    plan = Plan.model_validate({"tasks": [{"id": "t", "tool": "a:b"}]})
    run = Run(plan=plan, tasks={"t": TaskState()}, status="paused")
    times, bare = list[float](), list[float]()
    with uvicorn_door(asgi(app, on_loopback=True)) as door, _open(door.port, arrived):
        for number in range(ROUNDS):
            id = f"wf_{number}"
            began = time.perf_counter()
            runs.add(LOCAL, id, run)
            bare.append(time.perf_counter() - began)
            while True:
                told, at = arrived.get(timeout=10)
                if told == id:
                    break
            times.append(at - began)
            time.sleep(0.07)
        app.end_streams()
    return time_figure("event: from a workflow's transition to an open page", bare, times, most=MOST, most_p95=MOST)


@contextmanager
def _open(port: int, arrived: "Queue[tuple[str, float]]") -> Generator[None]:
    """A stream whose events are put there with the moment of their arrival."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/events?kinds=workflow")
    answer = connection.getresponse()
    assert answer.status == 200
    answer.readline()

    def read() -> None:
        for line in answer:
            if line.startswith(b"data:"):
                at = time.perf_counter()
                told: dict[str, Any] = json.loads(line[5:])
                if told["task"] is None:
                    arrived.put((told["workflow"], at))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    yield
    thread.join(10)
    connection.close()


async def _calls(app: App) -> Figure:
    """Calls in turn with events and without."""
    with_events, without = list[float](), list[float]()
    async with Client(build_server(app), mode="2026-07-28") as client:
        events, called = app.events, app.events.called
        for number in range(ROUNDS):
            for times, told in ((without, False), (with_events, True)):
                setattr(events, "called", called if told else _nothing)  # noqa: B010
                began = time.perf_counter()
                for _ in range(CALLS):
                    await client.call_tool("scratchpad_list", {})
                if number:
                    times.append((time.perf_counter() - began) / CALLS)
    return added_figure("event of a call: added to its time", median(without), median(with_events))


def _nothing(_: object) -> None:
    """No event."""
