"""Many calls by many clients at once."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle, islice
from time import perf_counter

from tests.bench.calls import TOOLS, Wire
from tests.bench.children import Serving
from tests.bench.connection import connected

WIRES: tuple[Wire, ...] = ("legacy sse", "2026-07-28")


@dataclass(slots=True)
class Tally:
    """What the clients have seen together."""

    errors: list[str] = field(default_factory=list[str])
    seconds: list[float] = field(default_factory=list[float])
    elapsed: float = 0

    @property
    def rate(self) -> float:
        """Answered calls a second."""
        return len(self.seconds) / self.elapsed


def storm(server: Serving, clients: int, calls: int, tally: Tally) -> None:
    """So many calls of both tools on both wires, by so many clients."""
    asyncio.run(_storm(server, clients, calls, tally))


async def _storm(server: Serving, clients: int, calls: int, tally: Tally) -> None:
    raws = [server.server.call(wire, tool).post().raw() for wire in WIRES for tool in TOOLS]
    left = islice(cycle(raws), calls)
    began = perf_counter()
    await asyncio.gather(*(_client(server.port, left, tally) for _ in range(clients)))
    tally.elapsed += perf_counter() - began


async def _client(port: int, left: Iterator[bytes], tally: Tally) -> None:
    """Calls as long as any are left; after an error on a new connection."""
    for raw in left:
        try:
            async with connected(port) as connection:
                tally.seconds.append(await connection.call(raw))
                for another in left:
                    tally.seconds.append(await connection.call(another))
        except (OSError, EOFError, ValueError) as error:
            tally.errors.append(f"{type(error).__name__}: {str(error)[:300]}")
