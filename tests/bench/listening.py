"""Clients that listen: what one subscription and ten add to the writes of a busy owner, in time and processor time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from loci.core.identity import LOCAL
from tests.bench.calls import message, tool_call
from tests.bench.children import Serving, serving
from tests.bench.connection import connected
from tests.bench.figures import Figure, ratio_figure, time_figure
from tests.bench.library import Library, app_on, server_of
from tests.bench.servers import Servers
from tests.bench.tracing import processor_time

WIRE = "2026-07-28"
NOTES = 1000
LISTENERS = (0, 1, 10)
ROUNDS, WRITES = 10, 50
SETTLED_S = 0.5
"""Seconds after the writes of a round, in which the last of them is told."""
NOTE = "notes-note-0"
TOLD = "notifications/resources/updated"
FOLLOWED = {"resourcesListChanged": True, "resourceSubscriptions": [f"loci://documents/{NOTE}"]}


def listening(servers: Servers) -> list[Figure]:
    """Rounds of writes in turns, with as many subscriptions; each follows the list and a note that is written, too."""
    seconds = {count: list[float]() for count in LISTENERS}
    cpu = {count: list[float]() for count in LISTENERS}
    with serving(server_of(servers, _library(servers.scratch))) as served:
        for number in range(ROUNDS + 1):
            for count in LISTENERS:
                took, used = asyncio.run(_round(served, count, number))
                if number:  # the first writes load what is needed
                    seconds[count] += took
                    cpu[count].append(used)
    _, one, ten = LISTENERS
    name = "a write beside subscriptions of its owner: {}"
    return [
        time_figure(f"{name.format(ten)}; beside it: none", seconds[0], seconds[ten]),
        ratio_figure(f"{name.format(one)}: CPU", cpu[0], cpu[one], None),
        ratio_figure(f"{name.format(ten)}: CPU", cpu[0], cpu[ten], None),
    ]


def _library(scratch: Path) -> Library:
    base = scratch / "listened"
    notes = base / "notes"
    notes.mkdir(parents=True)
    for number in range(NOTES):
        (notes / f"note-{number}.md").write_text(f"# Note {number}\n\nOf subject {number % 50}.\n", "utf-8")
    library = Library(base / "data", base / "models", (), (), notes)
    app_on(library.data, library.models).documents.ingest(LOCAL, [str(notes)])
    return library


async def _round(served: Serving, listeners: int, number: int) -> tuple[list[float], float]:
    """Seconds of each write, and processor time of the server for one."""
    async with AsyncExitStack() as stack:
        heard = [await stack.enter_async_context(_listener(served.port)) for _ in range(listeners)]
        connection = await stack.enter_async_context(connected(served.port))
        before, seconds = processor_time(served.pid), list[float]()
        for write in range(WRITES):
            given = {"path": f"notes/new/{number}-{listeners}-{write}.md", "content": f"Written {number} {write}."}
            if write == WRITES // 2:
                given |= {"path": NOTE, "mode": "append"}
            seconds.append(await connection.call(tool_call(WIRE, "write_document", given).raw()))
        await asyncio.sleep(SETTLED_S)
        used = (processor_time(served.pid) - before) / WRITES
        for one in heard:
            await asyncio.wait_for(one.wait(), 10)
    return seconds, used


@asynccontextmanager
async def _listener(port: int) -> AsyncGenerator[asyncio.Event]:
    """A subscription; the event is set as soon as a change of the note was told."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(message("subscriptions/listen", WIRE, {"notifications": FOLLOWED}).raw())
    while b"acknowledged" not in (line := await reader.readline()):
        if not line:
            raise RuntimeError("the subscription ended")
    heard = asyncio.Event()

    async def read() -> None:
        async for line in reader:
            if TOLD.encode() in line:
                heard.set()

    reading = asyncio.create_task(read())
    try:
        yield heard
    finally:
        reading.cancel()
        writer.close()
