"""Many clients at once: no call fails, and hardly fewer are answered than by a bare server."""

from tests.bench.children import serving
from tests.bench.figures import Figure, verdict
from tests.bench.servers import Servers
from tests.bench.storm import Tally, storm

CLIENTS = 64
CALLS = 10_000
TURNS = 5
LEAST_RATE = 0.9


def load(servers: Servers) -> list[Figure]:
    bare, loci = Tally(), Tally()
    with serving(servers.bare) as one, serving(servers.loci) as other:
        for _ in range(TURNS):
            storm(one, CLIENTS, CALLS // TURNS // 2, bare)  # for its rate, half as many will do
            storm(other, CLIENTS, CALLS // TURNS, loci)
    return [
        Figure(
            f"{CLIENTS} clients, {CALLS} calls over HTTP",
            budget="0 errors",
            measured=f"{len(loci.errors)} errors",
            verdict=verdict(kept=not loci.errors and len(loci.seconds) == CALLS),
            bare=f"{bare.rate:.0f} calls/s",
            loci=f"{loci.rate:.0f} calls/s",
            numbers={
                "bare_calls_per_second": bare.rate,
                "bare_errors": bare.errors[:10],
                "bare_slowest_seconds": max(bare.seconds),
                "loci_calls_per_second": loci.rate,
                "loci_errors": loci.errors[:10],
                "loci_slowest_seconds": max(loci.seconds),
            },
        ),
        Figure(
            "calls a second of these clients",
            budget=f">= {LEAST_RATE:.2f} x",
            measured=f"{loci.rate / bare.rate:.2f} x",
            verdict=verdict(kept=loci.rate >= LEAST_RATE * bare.rate),
            bare=f"{bare.rate:.0f} calls/s",
            loci=f"{loci.rate:.0f} calls/s",
            numbers={"ratio": loci.rate / bare.rate},
        ),
    ]
