"""Events: how long one is on its way to an open stream and onto an open page, and what they add to a call."""

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
from tests.support.browser import MISSING, browsing, chromium

MOST = 0.1
"""Seconds from a transition to an open stream, and onto an open page."""
ROUNDS, CALLS = 30, 100
APART_S = 0.07
WATCHING = """window.shown = {};
new MutationObserver(() => {
  for (const row of document.querySelectorAll('#runs .rows li')) window.shown[row.dataset.id] ??= Date.now();
}).observe(document.querySelector('#runs .rows'), { childList: true });"""


def event_streams(_: Servers) -> list[Figure]:
    with TemporaryDirectory() as folder:
        app = build_app(load_settings({"data": Path(folder) / "data", "models": Path(folder) / "models"}))
        try:
            return [*_transitions(app), asyncio.run(_calls(app))]
        finally:
            app.close()


def _transitions(app: App) -> list[Figure]:
    """A run changes its state; an open stream tells it, and an open page shows it."""
    arrived: Queue[tuple[str, float]] = Queue()
    name = "event: from a workflow's transition"
    with uvicorn_door(asgi(app, on_loopback=True)) as door, _open(door.port, arrived):
        bare, told = _told(app, arrived)
        on_stream = time_figure(f"{name} to an open stream", bare, told, most=MOST, most_p95=MOST)
        if chromium() is None:
            on_page = Figure(f"{name} onto an open page", "", MISSING, "no budget")
        else:
            shown = _shown(app, f"http://127.0.0.1:{door.port}/ui/runs")
            on_page = time_figure(f"{name} onto an open page", told, shown, most=MOST, most_p95=MOST)
        app.end_streams()
    return [on_stream, on_page]


def _told(app: App, arrived: "Queue[tuple[str, float]]") -> tuple[list[float], list[float]]:
    """Seconds that the transitions take, and until the stream has told each."""
    bare, told = list[float](), list[float]()
    for number in range(ROUNDS):
        id = f"wf_told{number}"
        began = time.perf_counter()
        _add(app, id)
        bare.append(time.perf_counter() - began)
        while (one := arrived.get(timeout=10))[0] != id:
            pass
        told.append(one[1] - began)
        time.sleep(APART_S)
    return bare, told


def _shown(app: App, page: str) -> list[float]:
    """Seconds until the page shows each transition."""
    shown = list[float]()
    with browsing() as browser:
        browser.go(page)
        # From now on the page asks by itself after ten seconds only.
        browser.until("performance.getEntriesByType('resource').some((one) => one.name.includes('seen='))")
        browser.run(WATCHING)
        for number in range(ROUNDS):
            id = f"wf_shown{number}"
            began = time.time()
            _add(app, id)
            shown.append(browser.until("window.shown[arguments[0]]", id) / 1000 - began)
            time.sleep(APART_S)
    return shown


def _add(app: App, id: str) -> None:
    """A run begins."""
    plan = Plan.model_validate({"tasks": [{"id": "t", "tool": "a:b"}]})
    app.workflows.parts.runs.add(LOCAL, id, Run(plan=plan, tasks={"t": TaskState()}, status="paused"))


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
