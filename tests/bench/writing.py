"""What write_document and move_document take in a small library and in a large one; beside it: the disk."""

import asyncio
import os
import time
from collections.abc import Sequence
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
MOST_FIRST = 0.15
"""Seconds of the first write after a start."""
SYNCS = 6
"""Of a write: the old text and its folder, the journal twice, the new text and its folder."""


def writing(servers: Servers) -> list[Figure]:
    """The two libraries in turns, so that what else the machine does counts for both."""
    few, many = _library(servers.scratch, FEW), _library(servers.scratch, MANY)
    took: dict[int, list[float]] = {FEW: [], MANY: []}
    moved: dict[int, list[float]] = {FEW: [], MANY: []}
    floor: list[float] = []
    with serving(server_of(servers, few)) as small, serving(server_of(servers, many)) as large:
        first = _writes(large, -1)[0]
        _writes(small, -1)
        for turn in range(TURNS):
            took[FEW] += _writes(small, turn)
            took[MANY] += _writes(large, turn)
            moved[FEW] += _timed(small, [_move(turn, number) for number in range(WRITES)])
            moved[MANY] += _timed(large, [_move(turn, number) for number in range(WRITES)])
            floor += _floor()
    ratio, of_moves = (median(one[MANY]) / median(one[FEW]) for one in (took, moved))
    return [
        Figure(
            f"write_document in {MANY:,} notes against in {FEW}; beside it: the disk",
            budget=f"<= {MOST:.1f} x, the first <= {milliseconds(MOST_FIRST)}",
            measured=f"{ratio:.2f} x, p95 {milliseconds(p95(took[MANY]))}, the first {milliseconds(first)}",
            verdict=verdict(kept=ratio <= MOST and first <= MOST_FIRST),
            bare=milliseconds(median(floor)),
            loci=milliseconds(median(took[MANY])),
            numbers={"few_seconds": took[FEW], "many_seconds": took[MANY], "floor_seconds": floor, "first": first},
        ),
        Figure(
            f"move_document in {MANY:,} notes against in {FEW}, with a link from another note; beside it: a write",
            budget=f"<= {MOST:.1f} x",
            measured=f"{of_moves:.2f} x, p95 {milliseconds(p95(moved[MANY]))}",
            verdict=verdict(kept=of_moves <= MOST),
            bare=milliseconds(median(took[MANY])),
            loci=milliseconds(median(moved[MANY])),
            numbers={"few_seconds": moved[FEW], "many_seconds": moved[MANY]},
        ),
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
    return _timed(served, [_post(turn, number) for number in range(WRITES)])


def _timed(served: Serving, calls: Sequence[bytes]) -> list[float]:
    async def timed() -> list[float]:
        async with connected(served.port) as connection:
            return [await connection.call(one) for one in calls]

    return asyncio.run(timed())


def _post(turn: int, number: int) -> bytes:
    text = f"# Of turn {turn}, {number}\n\nSee [[note-{number}]] and [[nowhere]].\n"
    return tool_call(WIRE, "write_document", {"path": f"notes/new/{turn}-{number}.md", "content": text}).raw()


def _move(turn: int, number: int) -> bytes:
    at = turn * WRITES + number
    return tool_call(WIRE, "move_document", {"path": f"notes/note-{at}.md", "to": f"notes/moved/{at}.md"}).raw()


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
