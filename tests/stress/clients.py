"""Clients that call tools of a server over HTTP at the same time, and what they have seen together."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.calls import tool_call
from tests.bench.connection import connected

WIRE = "2026-07-28"
ToolCall = tuple[str, Mapping[str, object]]
"""The name of a tool, and its arguments."""
Next = Callable[[int, int], ToolCall]
"""The next call of a client, from its number and the number of the call."""


@dataclass(slots=True)
class Seen:
    """What the clients have seen together."""

    seconds: list[float] = field(default_factory=list[float])
    by_tool: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    by_client: dict[int, int] = field(default_factory=dict[int, int])
    """How many answers each client got."""
    errors: list[str] = field(default_factory=list[str])
    elapsed: float = 0.0

    @property
    def rate(self) -> float:
        """Answered calls a second."""
        return len(self.seconds) / self.elapsed

    def add(self, client: int, tool: str, seconds: float) -> None:
        self.by_client[client] = self.by_client.get(client, 0) + 1
        self.seconds.append(seconds)
        self.by_tool.setdefault(tool, []).append(seconds)

    def __str__(self) -> str:
        p50, p99 = at(self.seconds, 0.5), at(self.seconds, 0.99)
        return (
            f"{len(self.seconds)} calls, {self.rate:.1f}/s, p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms"
            f" ({p99 / p50:.1f} x), {len(self.errors)} errors {self.errors[:1] or ''}"
        )


def at(seconds: list[float], part: float) -> float:
    """The time that this part of the calls did not exceed."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def crowd(port: int, clients: int, seconds: float, next_call: Next) -> Seen:
    """So many clients, each with one call after another."""
    seen = Seen()
    asyncio.run(_crowd(port, clients, seconds, next_call, seen))
    return seen


async def _crowd(port: int, clients: int, seconds: float, next_call: Next, seen: Seen) -> None:
    began = time.perf_counter()
    await asyncio.gather(*(_client(port, one, began + seconds, next_call, seen) for one in range(clients)))
    seen.elapsed = time.perf_counter() - began


async def _client(port: int, client: int, end: float, next_call: Next, seen: Seen) -> None:
    number = 0
    async with connected(port) as connection:
        while time.perf_counter() < end:
            tool, arguments = next_call(client, number)
            number += 1
            try:
                seen.add(client, tool, await connection.call(tool_call(WIRE, tool, arguments).raw()))
            except ValueError as error:  # the tool answered with an error
                seen.errors.append(str(error)[-300:])


def write_notes(folder: Path, count: int) -> None:
    """So many notes with a link each."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        text = f"# Note {number}\n\nAbout the subject {number % 50}, see [[note-{number * 13 % count}]].\n"
        (folder / f"note-{number}.md").write_text(text, encoding="utf-8")


def new_note(client: int, number: int) -> ToolCall:
    """The call that writes the next note of a client."""
    text = f"---\ntags: [t{client}]\n---\n# Of {client}, {number}\n\nSee [[note-{number % 100}]] and [[nowhere]].\n"
    return "write_document", {"path": f"notes/by-{client}/{number}.md", "content": text}


def mixed(client: int, number: int) -> ToolCall:
    """The calls of a mixed crowd: mostly searches, some reads and lists, and one write in ten."""
    match (client + number) % 10:
        case 0:
            return new_note(client, number)
        case 1 | 2:
            return "read_node_content", {"id": f"notes-note-{(client * 7 + number) % 100}"}
        case 3:
            return "scratchpad_list", {}
        case _:
            return "search_documents", {"query": f"subject {(client + number) % 50} of a note", "limit": 5}
