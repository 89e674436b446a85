"""Writers, a crowd, a hostile owner and kills: `python -m tests.stress` prints figures, and fails if one is broken."""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.library import models_of
from tests.bench.servers import servers
from tests.stress.clients import Seen, at, crowd, mixed, new_note, write_notes
from tests.stress.hostile import two_owners
from tests.stress.kills import kill_while_writing
from tests.support.serving import Serving, loci, serving

NOTES = 1_000
WRITERS, WRITING = 48, 30.0
CLIENTS, MIXED, SETTLED = 64, 50.0, 10.0
KILLS = 20


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.stress", description=__doc__)
    options.add_argument("--models", type=Path, metavar="DIR", help="has all-MiniLM-L6-v2; without it, it is pulled")
    options.add_argument("--hostile", choices=["at-once", "one-by-one"], help="try only the hostile owner")
    options.add_argument("--only", default="", metavar="TEXT", help="of one-by-one: attacks with this in their names")
    given = options.parse_args()
    with TemporaryDirectory(prefix="loci-stress-") as scratch:
        if given.hostile:
            is_each = given.hostile == "one-by-one"
            return int(not two_owners(Path(scratch) / "owners", one_by_one=is_each, only=given.only))
        mixed = [_writers(Path(scratch)), _mixed(Path(scratch), given.models), _kills(Path(scratch))]
        return int(not all([*mixed, two_owners(Path(scratch) / "owners", one_by_one=False)]))


def _writers(scratch: Path) -> bool:
    base = _library(scratch / "writers")
    with serving(base / "data") as server:
        one = crowd(_port(server), 1, 5.0, new_note)
        many = crowd(_port(server), WRITERS, WRITING, lambda client, number: new_note(client + 1, number))
    print(f"1 writer: {one}\n{WRITERS} writers: {many}", flush=True)
    return _kept("30 writes a second, p99 <= 3 x p50", many.rate >= 30 and _slow(many) <= 3 and not many.errors)


def _mixed(scratch: Path, models: Path | None) -> bool:
    with servers(models) as stage:
        folder = str(models_of(stage))
        base = _library(scratch / "mixed", LOCI_MODELS=folder)
        with serving(base / "data", LOCI_MODELS=folder, LOCI_RERANK_SECONDS="0") as server:
            crowd(_port(server), CLIENTS, SETTLED, mixed)
            few = resident(server)
            seen = crowd(_port(server), CLIENTS, MIXED, lambda client, number: mixed(client, 1_000 + number))
            many = resident(server)
    print(f"{CLIENTS} mixed clients: {seen}; memory {few / 1024:.0f} -> {many / 1024:.0f} MiB")
    for tool, seconds in seen.by_tool.items():
        print(f"  {tool}: {len(seconds)}, p50 {at(seconds, 0.5) * 1000:.0f} ms, p99 {at(seconds, 0.99) * 1000:.0f} ms")
    kept = _slow(seen) <= 10 and many <= 1.3 * few and not seen.errors
    return _kept("p99 <= 10 x p50, memory <= 1.3 x", kept)


def _kills(scratch: Path) -> bool:
    written, lost = kill_while_writing(_library(scratch / "kills"), KILLS, 3.0)
    print(f"{KILLS} kills while writing: {written} acknowledged writes, {len(lost)} lost {lost[:3]}")
    return _kept("0 lost", not lost and written > 0)


def _library(base: Path, **environment: str) -> Path:
    write_notes(base / "notes", NOTES)
    loci(base / "data", "ingest", "--yes", str(base / "notes"), **environment)
    return base


def resident(server: Serving) -> int:
    """The memory of the server in KiB, as Linux counts it."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))


def _slow(seen: Seen) -> float:
    return at(seen.seconds, 0.99) / at(seen.seconds, 0.5)


def _port(server: Serving) -> int:
    return int(server.url.rpartition(":")[2])


def _kept(budget: str, is_kept: bool) -> bool:
    print(f"  {budget}: {'ok' if is_kept else 'BROKEN'}", flush=True)
    return is_kept


if __name__ == "__main__":
    sys.exit(main())
