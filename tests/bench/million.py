"""A million passages with made-up vectors: how long a search takes, what it holds in memory, and how it starts.

`python -m tests.bench.million DATA MODELS PASSAGES` writes what the library in DATA still lacks. It may be killed at
any time, and started again. `million` does so once. It takes 9 GB of disk, and most of an hour on two busy cores.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from loci.app import App
from loci.core.identity import LOCAL
from loci.core.stores import ABSENT
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.ranking import Chunk, TagsAndDate
from tests.bench.calls import tool_call
from tests.bench.children import Serving, serving
from tests.bench.connection import connected
from tests.bench.figures import Figure, milliseconds, time_figure, verdict
from tests.bench.floor import BareModel
from tests.bench.library import Library, app_on, embedding_model, known_document, models_of, server_of
from tests.bench.servers import ROOT, Servers
from tests.bench.texts import PASSAGES_A_DOCUMENT, Texts, made_up

PASSAGES = 1_000_000
AT_ONCE = 100
"""Documents of one transaction."""
KILLED_AFTER = 20
"""Transactions, after which the first ingestion is killed."""
SEARCHES, WARM = 100, 60
MOST, MOST_MEMORY, MOST_START = 0.120, 2.5 * 1024**2, 5.0
"""Seconds, KiB, seconds."""
A_PRODUCT = 100_000
"""Vectors of one product of the floor, which stands for as many as there are passages."""


def million(servers: Servers) -> list[Figure]:
    data, models = servers.scratch / "million", models_of(servers)
    took = _killed_and_resumed(data, models, PASSAGES)
    return [_built(data, models, took), *searched(servers, data, models, PASSAGES)]


def _killed_and_resumed(data: Path, models: Path, passages: int) -> float:
    command = [sys.executable, "-m", "tests.bench.million", str(data), str(models), str(passages)]
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as first:
        for _ in zip(range(KILLED_AFTER), first.stderr or (), strict=False):
            pass
        first.kill()
    subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def _built(data: Path, models: Path, seconds: float) -> Figure:
    with closing(app_on(data, models)) as app:
        held = app.documents.parts.index.counts(LOCAL, COLLECTION)
    size = sum(file.stat().st_size for file in data.glob("loci.db*"))
    return Figure(
        f"{PASSAGES:,} passages written, killed once on the way",
        budget="every passage once",
        measured=f"{held.chunks:,} passages, {size / 1e9:.1f} GB",
        verdict=verdict(kept=held.chunks == PASSAGES),
        loci=f"{held.chunks / seconds:,.0f} passages/s",
        numbers={"seconds": seconds, "passages": held.chunks, "bytes": size},
    )


def searched(servers: Servers, data: Path, models: Path, passages: int) -> list[Figure]:
    """Searches over HTTP in a library that is there, its start, and its memory."""
    questions = _questions(data, models)
    server = server_of(servers, Library(data, models, [], questions, data))
    began = time.perf_counter()
    with serving(server) as served:
        started = time.perf_counter() - began
        first = asyncio.run(_asked(served, questions[:1]))[0] + started
        asyncio.run(_asked(served, questions[:WARM]))
        took = asyncio.run(_asked(served, questions[WARM:]))
        resident = served.resident()
    what = f"{passages:,} passages"
    return [
        time_figure(f"search_documents, {what}: over HTTP", _floor(models, questions, passages), took, MOST),
        _figure(f"start with {what}", f"<= {MOST_START:g} s", started <= MOST_START, f"{started:.1f} s", started),
        Figure(
            f"from a start to the first answer, {what}",
            "",
            "",
            "no budget",
            loci=f"{first:.1f} s",
            numbers={"s": first},
        ),
        _figure(
            f"memory with {what}",
            f"<= {MOST_MEMORY / 1024**2:g} GiB",
            resident <= MOST_MEMORY,
            f"{resident / 1024**2:.2f} GiB",
            resident,
        ),
    ]


def _figure(name: str, budget: str, kept: bool, loci: str, number: float) -> Figure:
    return Figure(name, budget, "", verdict(kept=kept), loci=loci, numbers={"loci": number})


def _questions(data: Path, models: Path) -> list[str]:
    texts = Texts(3)
    with closing(app_on(data, models)) as app:
        found = app.documents.parts.index.passages(LOCAL, COLLECTION)
        return [texts.question(one.text) for one in islice(found, 0, 50 * (WARM + SEARCHES), 50)]


async def _asked(served: Serving, questions: Sequence[str]) -> list[float]:
    async with connected(served.port) as connection:
        posts = [tool_call("2026-07-28", "search_documents", {"query": one}).raw() for one in questions]
        return [(await connection.answer(post))[0] for post in posts]


def _floor(models: Path, questions: Sequence[str], passages: int) -> list[float]:
    """The question through the model, and the product with so many vectors."""
    import numpy as np

    model, took = BareModel(models), list[float]()
    rows = np.random.default_rng(1).standard_normal((A_PRODUCT, len(model.vector("one"))), np.float32)
    for question in questions[:SEARCHES]:
        began = time.perf_counter()
        vector = model.vector(question)
        embedded = time.perf_counter()
        _ = rows @ vector
        took.append(embedded - began + (time.perf_counter() - embedded) * passages / A_PRODUCT)
    return took


def fill(app: App, passages: int) -> None:
    """Write the documents that are missing."""
    parts, model, took = app.documents.parts, embedding_model(app), 0.0
    held = parts.index.counts(LOCAL, COLLECTION).documents
    documents = made_up(Texts(3), parts.embedder, model, passages, held)
    for some in _portions(documents):
        began = time.perf_counter()
        with parts.index.together():
            for document, chunks in some:
                parts.index.put(LOCAL, COLLECTION, document, chunks, TagsAndDate(), is_new=True)
                parts.catalog.put(LOCAL, known_document(document, len(chunks), model.identity), ABSENT)
        took += time.perf_counter() - began
        held += len(some)
        print(
            f"{held * PASSAGES_A_DOCUMENT:,} passages: {milliseconds(took)} in the index", file=sys.stderr, flush=True
        )


def _portions(documents: Iterator[tuple[str, list[Chunk]]]) -> Iterator[list[tuple[str, list[Chunk]]]]:
    while some := list(islice(documents, AT_ONCE)):
        yield some


if __name__ == "__main__":
    fill(app_on(Path(sys.argv[1]), Path(sys.argv[2])), int(sys.argv[3]))
