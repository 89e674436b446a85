"""Files into a library: a thousand as `loci ingest` takes them in, without a model and with one; then ten thousand."""

import resource
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.figures import Figure, milliseconds, time_figure, verdict
from tests.bench.library import DOCUMENTS, Library, environment, thousand_documents
from tests.bench.servers import ROOT, Servers
from tests.bench.texts import Texts

ROUNDS = 3
MOST = 5.0
MANY = 10_000
SECTIONS = 4
MOST_OF_MANY = 12.0
"""Seconds on two cores that have nothing else to do."""


def ingestion(servers: Servers) -> list[Figure]:
    library = thousand_documents(servers)
    plain, loci = list[float](), list[float]()
    for round in range(ROUNDS):
        plain.append(_plain(library.notes, servers.scratch / f"plain-{round}.db"))
        loci.append(_ingested(library, servers.scratch / f"words-{round}"))
    words = time_figure(f"{DOCUMENTS:,} files, loci ingest, no model", plain, loci, MOST)
    return [words, _many(servers, library), _with_model(library)]


def _plain(notes: Path, file: Path) -> float:
    """What cannot be left out: reading, and a row of FTS5 for each section."""
    began = time.perf_counter()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE VIRTUAL TABLE word USING fts5(words, tokenize='porter')")
        for note in notes.rglob("*.md"):
            sections = note.read_text("utf-8").split("\n## ")
            connection.executemany("INSERT INTO word VALUES (?)", ((section,) for section in sections))
    connection.close()
    return time.perf_counter() - began


def _many(servers: Servers, library: Library) -> Figure:
    """Ten thousand notes of 2.6 KB: seconds, and processor time beside that of plain rows."""
    notes, texts = servers.scratch / "many-notes", Texts(5)
    for number in range(MANY):
        place = notes / f"part-{number // 100:02}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"note-{number:05}.md").write_text(texts.document(SECTIONS), "utf-8")
    plain = _plain(notes, servers.scratch / "many-plain.db")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = _ingested(library, servers.scratch / "many", notes)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Figure(
        f"{MANY:,} files, loci ingest, no model",
        budget=f"<= {MOST_OF_MANY:.0f} s",
        measured=f"{processor:.1f} s of processor time, {processor / plain:.1f} x the floor",
        verdict=verdict(kept=seconds <= MOST_OF_MANY),
        bare=f"{plain:.1f} s",
        loci=f"{seconds:.1f} s",
        numbers={"floor_seconds": plain, "loci_seconds": seconds, "processor_seconds": processor},
    )


def _ingested(library: Library, data: Path, notes: Path | None = None) -> float:
    """The whole command, from its start to its end."""
    env = {**environment(library), "LOCI_DATA": str(data), "LOCI_MODELS": str(data / "no-models")}
    command = [sys.executable, "-m", "loci", "ingest", "--yes", str(notes or library.notes)]
    began = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)
    return time.perf_counter() - began


def _with_model(library: Library) -> Figure:
    share = library.in_model / library.seconds
    beside = (library.seconds - library.in_model) / DOCUMENTS
    return Figure(
        f"{DOCUMENTS:,} files with all-MiniLM-L6-v2, {library.passages:,} passages",
        budget="",
        measured=f"{share:.0%} of it in the model, {milliseconds(beside)} a document beside it",
        verdict="no budget",
        loci=f"{DOCUMENTS / library.seconds:.1f} documents/s",
        numbers={"seconds": library.seconds, "seconds_in_model": library.in_model, "passages": library.passages},
    )
