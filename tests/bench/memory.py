"""Resident memory after many calls against that after few."""

from pathlib import Path

from tests.bench.children import Serving, serving
from tests.bench.figures import Figure, verdict
from tests.bench.servers import Server, Servers
from tests.bench.storm import Tally, storm

CLIENTS = 8
FEW, MANY = 100, 5_000
MOST = 1.2
PROC = Path("/proc/self/status")


def memory(servers: Servers) -> list[Figure]:
    name = f"memory after {MANY} calls against after {FEW}"
    budget = f"<= {MOST:.1f} x"
    if not PROC.exists():
        return [Figure(name, budget, "measured on Linux only", "no budget")]
    bare, loci = _grown(servers.bare), _grown(servers.loci)
    growth, beside = loci[1] / loci[0], bare[1] / bare[0]
    return [
        Figure(
            name,
            budget,
            measured=f"{growth:.2f} x (bare {beside:.2f} x)",
            verdict=verdict(kept=growth <= MOST),
            bare=f"{bare[1] / 1024:.0f} MiB",
            loci=f"{loci[1] / 1024:.0f} MiB",
            numbers={"bare_kib": bare, "loci_kib": loci},
        )
    ]


def _grown(server: Server) -> tuple[int, int]:
    """KiB after few calls, and after many."""
    with serving(server) as served:
        return _resident(served, FEW), _resident(served, MANY - FEW)


def _resident(served: Serving, calls: int) -> int:
    tally = Tally()
    storm(served, CLIENTS, calls, tally)
    if tally.errors:
        raise RuntimeError(f"{served.server.name} failed: {tally.errors[0]}")
    return served.resident()
