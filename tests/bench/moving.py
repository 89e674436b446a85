"""Ten thousand documents into an archive: how long it takes, and its memory beside that of an idle server."""

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.children import serving
from tests.bench.figures import Figure, verdict
from tests.bench.servers import ROOT, Servers
from tests.bench.texts import Texts

DOCUMENTS, SECTIONS = 10_000, 4
MOST_SECONDS, MOST_MIB = 20.0, 100.0


def moving(servers: Servers) -> list[Figure]:
    notes, texts = servers.scratch / "moving-notes", Texts(5)
    for number in range(DOCUMENTS):
        place = notes / f"part-{number // 100:02}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"note-{number:05}.md").write_text(texts.document(SECTIONS), "utf-8")
    data, back = servers.scratch / "moving", servers.scratch / "moving-back"
    archive = servers.scratch / "moving.zip"
    _run(data, "ingest", "--yes", str(notes))
    seconds, kib = _run(data, "export", str(archive))
    imported, _ = _run(back, "import", str(archive))
    with serving(servers.loci) as served:
        idle = served.resident()
    more = (kib - idle) / 1024
    size = archive.stat().st_size
    return [
        Figure(
            f"{DOCUMENTS:,} documents, loci export",
            budget=f"<= {MOST_SECONDS:.0f} s, <= {MOST_MIB:.0f} MiB above an idle server",
            measured=f"{more:+.0f} MiB, an archive of {size / 2**20:.0f} MiB",
            verdict=verdict(kept=seconds <= MOST_SECONDS and more <= MOST_MIB),
            bare=f"{idle / 1024:.0f} MiB",
            loci=f"{seconds:.1f} s",
            numbers={"seconds": seconds, "peak_kib": kib, "idle_kib": idle, "archive_bytes": size},
        ),
        Figure(
            f"{DOCUMENTS:,} documents, loci import",
            budget="",
            measured=f"{DOCUMENTS / imported:.0f} documents/s, words only",
            verdict="no budget",
            loci=f"{imported:.1f} s",
            numbers={"seconds": imported},
        ),
    ]


def _run(data: Path, *arguments: str) -> tuple[float, int]:
    """Seconds of the whole command, and the KiB that it had at most."""
    env = {**os.environ, "LOCI_DATA": str(data), "LOCI_MODELS": str(data / "no-models")}
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "loci", *arguments], cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=sys.stderr
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"loci {arguments[0]} failed")
    return time.perf_counter() - began, used.ru_maxrss
