"""The time of one call over HTTP: one client, one call after another, the two servers in turns."""

import asyncio
from statistics import median

from tests.bench.calls import Wire
from tests.bench.children import Serving, serving
from tests.bench.connection import connected
from tests.bench.figures import Figure, added_figure
from tests.bench.servers import Servers

WIRES: tuple[Wire, ...] = ("legacy sse", "2026-07-28")
TURNS = 40
CALLS_A_TURN = 20


def latency(servers: Servers) -> list[Figure]:
    with serving(servers.bare) as bare, serving(servers.loci) as loci:
        return [asyncio.run(_compared(bare, loci, wire)) for wire in WIRES]


async def _compared(bare: Serving, loci: Serving, wire: Wire) -> Figure:
    one = bare.server.call(wire, "scratchpad_read").post().raw()
    other = loci.server.call(wire, "scratchpad_read").post().raw()
    bare_walls: list[float] = []
    loci_walls: list[float] = []
    async with connected(bare.port) as to_bare, connected(loci.port) as to_loci:
        for _ in range(TURNS):
            bare_walls.extend([await to_bare.call(one) for _ in range(CALLS_A_TURN)])
            loci_walls.extend([await to_loci.call(other) for _ in range(CALLS_A_TURN)])
    return added_figure(f"scratchpad_read, {wire}: time, over HTTP", median(bare_walls), median(loci_walls))
