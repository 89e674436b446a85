"""Kills a server while clients write, starts it again, and counts which acknowledged writes are lost."""

import asyncio
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

from tests.bench.calls import tool_call
from tests.bench.connection import connected
from tests.stress.clients import WIRE, new_note
from tests.support.serving import Serving, call, post, serving

WRITERS = 8
CLEANED_SECONDS = 60
"""A server removes what a killed one left while it already answers."""


def kill_while_writing(base: Path, kills: int, longest: float) -> tuple[int, list[str]]:
    """The number of acknowledged writes, and those that a search or the disk has lost."""
    acknowledged: list[tuple[int, int]] = []
    first = [0] * WRITERS
    for _ in range(kills):
        with serving(base / "data") as server:
            asyncio.run(_until_killed(server, random.uniform(0.2, longest), first, acknowledged))
    with serving(base / "data") as server:
        lost = [path for path in map(_path, acknowledged) if not _is_whole(server, base, path)]
        lost += _leftovers(base / "notes")
    return len(acknowledged), lost


async def _until_killed(server: Serving, seconds: float, first: list[int], acknowledged: list[tuple[int, int]]) -> None:
    port = int(server.url.rpartition(":")[2])

    async def write(client: int) -> None:
        with suppress(OSError, EOFError, ValueError):  # the kill
            async with connected(port) as connection:
                while True:
                    number, first[client] = first[client], first[client] + 1
                    tool, arguments = new_note(client, number)
                    await connection.call(tool_call(WIRE, tool, arguments).raw())
                    acknowledged.append((client, number))

    before = len(acknowledged)
    writing = [asyncio.create_task(write(client)) for client in range(WRITERS)]
    while len(acknowledged) == before and not all(one.done() for one in writing):
        await asyncio.sleep(0.01)
    await asyncio.sleep(seconds)
    server.process.send_signal(signal.SIGKILL)
    await asyncio.gather(*writing)


def _leftovers(notes: Path) -> list[str]:
    """The scratch files that are still there when the server has had time to remove them."""
    deadline = time.monotonic() + CLEANED_SECONDS
    while (left := [str(file) for file in notes.rglob("*.tmp")]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _path(one: tuple[int, int]) -> str:
    return f"by-{one[0]}/{one[1]}.md"


def _is_whole(server: Serving, base: Path, path: str) -> bool:
    id = "notes-" + path.removesuffix(".md").replace("/", "-")
    read = post(f"{server.url}/mcp", call("read_node_content", {"id": id})).text
    return (base / "notes" / path).is_file() and 'isError":true' not in read and "See [[note-" in read
