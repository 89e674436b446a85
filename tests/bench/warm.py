"""Warm calls through the Lambda handler: CPU against the bare server's, in turns."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median

from tests.bench.calls import TOOLS, WIRES, Tool, Wire
from tests.bench.children import Function, function
from tests.bench.figures import Figure, added_figure, ratio_figure
from tests.bench.servers import Server, Servers

MOST = 1.25
ROUNDS = 12
CALLS = 50
FIRST = 100


@dataclass(frozen=True, slots=True)
class Pair:
    """One comparison, and what its rounds took so far."""

    name: str
    wire: Wire
    tool: Tool
    bare: Server
    loci: Server
    most: float | None
    bare_cpu: list[float] = field(default_factory=list[float])
    loci_cpu: list[float] = field(default_factory=list[float])
    bare_walls: list[float] = field(default_factory=list[float])
    loci_walls: list[float] = field(default_factory=list[float])

    def round(self, bare: Function, loci: Function, calls: int) -> None:
        """One turn of each."""
        one = bare.run(self.bare.call(self.wire, self.tool).post(), calls)
        other = loci.run(self.loci.call(self.wire, self.tool).post(), calls)
        self.bare_cpu.append(one.cpu_seconds)
        self.loci_cpu.append(other.cpu_seconds)
        self.bare_walls.extend(one.walls)
        self.loci_walls.extend(other.walls)

    def forget(self) -> None:
        """The first calls fill caches."""
        for kept in (self.bare_cpu, self.loci_cpu, self.bare_walls, self.loci_walls):
            kept.clear()


def warm(servers: Servers) -> list[Figure]:
    pairs = _pairs(servers)
    with ExitStack() as stack:
        names = {server.name: server for pair in pairs for server in (pair.bare, pair.loci)}
        functions = {name: stack.enter_context(function(server)) for name, server in names.items()}
        for pair in pairs:
            pair.round(functions[pair.bare.name], functions[pair.loci.name], FIRST)
            pair.forget()
        for _ in range(ROUNDS):
            for pair in pairs:
                pair.round(functions[pair.bare.name], functions[pair.loci.name], CALLS)
    return [
        *(ratio_figure(f"{pair.name}: CPU", pair.bare_cpu, pair.loci_cpu, pair.most) for pair in pairs),
        *(_added(pair) for pair in pairs if pair.tool == "scratchpad_read" and pair.most is not None),
    ]


def _pairs(servers: Servers) -> Sequence[Pair]:
    budgeted = [
        Pair(f"warm {tool}, {wire}", wire, tool, servers.bare_for(wire), servers.loci, MOST)
        for wire in WIRES
        for tool in TOOLS
    ]
    told = [
        Pair(f"warm {tool}, 2026-07-28, {what}", "2026-07-28", tool, servers.bare, server, None)
        for what, server in (("metrics on", servers.with_metrics), ("API key", servers.with_key))
        for tool in TOOLS
    ]
    key, token = servers.with_key, servers.with_grant
    by_token = [
        Pair(f"warm {tool}, 2026-07-28, a client's token beside a key", "2026-07-28", tool, key, token, None)
        for tool in TOOLS
    ]
    return [*budgeted, *told, *by_token]


def _added(pair: Pair) -> Figure:
    bare, loci = median(pair.bare_walls), median(pair.loci_walls)
    return added_figure(f"{pair.name}: time, in process", bare, loci)
