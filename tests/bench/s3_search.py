"""The index in a bucket, on a local S3: searches beside the laptop's, the first search, and writes."""

import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from loci.adapters.s3_index import owner_copy
from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.document_index import BoundedIndex
from loci.search.ranking import Chunk, QueryVector, TagsAndDate, Where
from loci.search.words import query_words
from tests.bench.figures import Figure, milliseconds, p95, verdict
from tests.bench.library import app_on, embedding_model, models_of
from tests.bench.local_s3 import local_s3
from tests.bench.servers import Servers
from tests.bench.texts import Texts, made_up
from tests.support.moto_aws import BUCKET, TABLE

SIZES = {1_000: 0.4, 20_000: 1.5}
"""Passages, and the most seconds of a write."""
MOST_BESIDE = 1.5
SEARCHES, WRITES, COLD = 100, 40, 5
WARM = 20
BYTES_OF_DOCUMENT = 86_000
"""Of ten passages, as a change."""
AT_ONCE = 50
EVERYWHERE = Where()

Documents = Sequence[tuple[str, list[Chunk]]]


def s3_search(servers: Servers) -> list[Figure]:
    return [figure for size, most in SIZES.items() for figure in _of(servers, size, most)]


def _of(servers: Servers, size: int, most: float) -> list[Figure]:
    models = models_of(servers)
    laptop = app_on(servers.scratch / f"beside-s3-{size}", models)
    texts = Texts(5)
    made = made_up(texts, laptop.documents.parts.embedder, embedding_model(laptop), size + 10 * (WRITES + 1))
    documents = list(made)
    kept, more = documents[: size // 10], documents[size // 10 :]
    with local_s3():
        hosted = _hosted(models, size + 1_000)
        for app in (laptop, hosted):
            _fill(app, kept)
        questions = texts.some([texts.question(chunks[0].text) for _, chunks in kept])[: SEARCHES + WARM]
        return [
            _warm(size, laptop, hosted, questions),
            _cold(size, hosted, models, questions),
            _writes(size, hosted, more, most),
            _fold(size, hosted, kept, more[-1], most),
        ]


def _hosted(models: Path, most_passages: int) -> App:
    """Loci as in a function, on the local S3."""
    where = {"mode": "aws", "table": TABLE, "bucket": BUCKET, "secrets": ["s" * 32], "search": "s3"}
    return build_app(
        load_settings({**where, "models": models, "rerank_seconds": 0.0, "search_passages": most_passages})
    )


def _fill(app: App, documents: Documents) -> None:
    """What comes at once is written together."""
    index = app.documents.parts.index

    def put(document: tuple[str, list[Chunk]]) -> None:
        index.put(LOCAL, COLLECTION, *document, TagsAndDate())

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(put, documents))


def _warm(size: int, laptop: App, hosted: App, questions: Sequence[str]) -> Figure:
    took: dict[str, list[float]] = {"laptop": [], "hosted": []}
    for question in questions:
        found: list[object] = []
        for name, app in (("laptop", laptop), ("hosted", hosted)):
            began = time.perf_counter()
            ranking = app.documents.parts.search.find(LOCAL, COLLECTION, question, limit=10)
            took[name].append(time.perf_counter() - began)
            found.append([(hit.chunk.id, hit.score) for hit in ranking.hits])
        if found[0] != found[1]:
            raise RuntimeError(f"the two found different things: {question}")
    beside, ours = (one[WARM:] for one in took.values())
    ratio = median(ours) / median(beside)
    return Figure(
        f"search in a bucket, {size:,} passages, beside the laptop's",
        budget=f"<= {MOST_BESIDE:.1f} x",
        measured=f"{ratio:.2f} x, p95 {milliseconds(p95(ours))}",
        verdict=verdict(kept=ratio <= MOST_BESIDE),
        bare=milliseconds(median(beside)),
        loci=milliseconds(median(ours)),
        numbers={"laptop_seconds": beside, "s3_seconds": ours},
    )


def _cold(size: int, hosted: App, models: Path, questions: Sequence[str]) -> Figure:
    """The model is loaded; the index is not."""
    took: list[float] = []
    embedder = hosted.documents.parts.embedder
    megabytes = 0.0
    for question in questions[:COLD]:
        asked = embedder.query(question)
        index = _hosted(models, size + 1_000).documents.parts.index
        began = time.perf_counter()
        vector = QueryVector.of(asked.model, asked.vector)
        best = index.candidates(LOCAL, COLLECTION, query_words(question), vector, limit=50, where=EVERYWHERE)
        index.chunks(LOCAL, COLLECTION, [one.chunk for one in best])
        took.append(time.perf_counter() - began)
        if isinstance(index, BoundedIndex):
            megabytes = index.room(LOCAL).bytes / 1e6
    return Figure(
        f"first search in a bucket, {size:,} passages, index fetched",
        budget="",
        measured=f"{megabytes:.0f} MB on the disk",
        verdict="no budget",
        loci=milliseconds(median(took)),
        numbers={"seconds": took, "megabytes": megabytes},
    )


def _writes(size: int, hosted: App, more: Documents, most: float) -> Figure:
    """Documents of ten passages, one after another; some of the writes fold."""
    took: list[float] = []
    for document, chunks in more[:WRITES]:
        began = time.perf_counter()
        hosted.documents.parts.index.put(LOCAL, COLLECTION, document, chunks, TagsAndDate())
        took.append(time.perf_counter() - began)
    return Figure(
        f"write in a bucket, {size:,} passages, a document of ten",
        budget=f"<= {most * 1000:g} ms",
        measured=f"p95 {milliseconds(p95(took))}, the slowest {milliseconds(max(took))}",
        verdict=verdict(kept=max(took) <= most),
        loci=milliseconds(median(took)),
        numbers={"seconds": took},
    )


def _fold(size: int, hosted: App, kept: Documents, document: tuple[str, list[Chunk]], most: float) -> Figure:
    """A write that folds, after as many changes as there are at most: documents from everywhere, put with new texts."""
    took: list[float] = []
    id, chunks = document
    bounds = owner_copy.LEAST_FOLDED, owner_copy.MOST_FOLDED
    index = hosted.documents.parts.index
    room = index.room(LOCAL).bytes if isinstance(index, BoundedIndex) else 0
    most_changes = min(max(bounds[0], room * owner_copy.SHARE), bounds[1])
    count = int(most_changes / BYTES_OF_DOCUMENT)
    for turn in range(COLD):
        with _folding_above(1 << 40):
            some = kept[turn :: max(1, len(kept) // count)][:count]
            _fill(hosted, [(one, [_changed(chunk, turn) for chunk in its]) for one, its in some])
        with _folding_above(1):
            began = time.perf_counter()
            index.put(LOCAL, COLLECTION, id, chunks[: 1 + turn], TagsAndDate())
            took.append(time.perf_counter() - began)
    return Figure(
        f"write in a bucket that folds, {size:,} passages",
        budget=f"<= {most * 1000:g} ms",
        measured=f"{most_changes / 1e6:.0f} MB of changes, the slowest {milliseconds(max(took))}",
        verdict=verdict(kept=max(took) <= most),
        loci=milliseconds(median(took)),
        numbers={"seconds": took},
    )


@contextmanager
def _folding_above(size: int) -> Generator[None, None, None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner_copy, "LEAST_FOLDED", size)
        patch.setattr(owner_copy, "MOST_FOLDED", size)
        yield


def _changed(chunk: Chunk, turn: int) -> Chunk:
    return replace(chunk, text=f"{chunk.text} {turn}")
