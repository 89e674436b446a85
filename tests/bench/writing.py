"""What write_document takes in a small library and in a large one, beside what the disk takes for the same files."""

import asyncio
import os
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from loci.core.identity import LOCAL
from tests.bench.calls import tool_call
from tests.bench.children import Serving, serving
from tests.bench.connection import connected
from tests.bench.figures import Figure, milliseconds, p95, verdict
from tests.bench.library import Library, app_on, server_of
from tests.bench.servers import Servers

WIRE = "2026-07-28"
FEW, MANY = 100, 10_000
WRITES, TURNS = 10, 10
MOST = 1.3
SYNCS = 6
"""Of a write: the old text and its folder, the journal twice, the new text and its folder."""


def writing(servers: Servers) -> list[Figure]:
    """The two libraries in turns, so that what else the machine does counts for both."""
    few, many = _library(servers.scratch, FEW), _library(servers.scratch, MANY)
    took: dict[int, list[float]] = {FEW: [], MANY: []}
    floor: list[float] = []
    with serving(server_of(servers, few)) as small, serving(server_of(servers, many)) as large:
        first = _writes(large, -1)[0]
        _writes(small, -1)
        for turn in range(TURNS):
            took[FEW] += _writes(small, turn)
            took[MANY] += _writes(large, turn)
            floor += _floor()
    ratio = median(took[MANY]) / median(took[FEW])
    return [
        Figure(
            f"write_document in {MANY:,} notes against in {FEW}; beside it: the disk",
            budget=f"<= {MOST:.1f} x",
            measured=f"{ratio:.2f} x, p95 {milliseconds(p95(took[MANY]))}, the first {milliseconds(first)}",
            verdict=verdict(kept=ratio <= MOST),
            bare=milliseconds(median(floor)),
            loci=milliseconds(median(took[MANY])),
            numbers={"few_seconds": took[FEW], "many_seconds": took[MANY], "floor_seconds": floor, "first": first},
        )
    ]


def _library(scratch: Path, count: int) -> Library:
    base = scratch / f"written-{count}"
    notes = base / "notes"
    notes.mkdir(parents=True)
    for number in range(count):
        text = f"# Note {number}\n\nOf subject {number % 50}, see [[note-{number * 13 % count}]].\n"
        (notes / f"note-{number}.md").write_text(text, "utf-8")
    library = Library(base / "data", base / "models", (), (), notes)
    app_on(library.data, library.models).documents.ingest(LOCAL, [str(notes)])
    return library


def _writes(served: Serving, turn: int) -> list[float]:
    async def timed() -> list[float]:
        async with connected(served.port) as connection:
            return [await connection.call(_post(turn, number)) for number in range(WRITES)]

    return asyncio.run(timed())


def _post(turn: int, number: int) -> bytes:
    text = f"# Of turn {turn}, {number}\n\nSee [[note-{number}]] and [[nowhere]].\n"
    return tool_call(WIRE, "write_document", {"path": f"notes/new/{turn}-{number}.md", "content": text}).raw()


def _floor() -> list[float]:
    """Small files, written so that they survive a power cut, as often as a write has to."""
    took: list[float] = []
    with TemporaryDirectory() as folder:
        for number in range(WRITES):
            began = time.perf_counter()
            for part in range(SYNCS):
                with Path(folder, f"{number}-{part}").open("wb") as file:
                    file.write(b"x" * 100)
                    file.flush()
                    os.fsync(file.fileno())
            took.append(time.perf_counter() - began)
    return took
