"""A search with a cross-encoder: it reads all passages, or stops at its deadline, or at most one batch later."""

import asyncio
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.models import OnnxReranker
from loci.model_store.models import ModelsFolder
from tests.bench.calls import tool_call
from tests.bench.children import serving
from tests.bench.connection import connected
from tests.bench.figures import Figure, milliseconds, p95, verdict
from tests.bench.library import server_of, thousand_documents
from tests.bench.servers import Servers
from tests.support.small_models import RERANKER, lay_out_reranker

DEADLINE = 0.3
LONG = 20.0
QUESTIONS = 40
TIMED = 5
LAYERS, WIDTH = 6, 384
"""Of the cross-encoder, whose weights are random: about as slow as ms-marco-MiniLM-L6-v2."""
READ = re.compile(r": (\d+) of (\d+) passages")


def rerank(servers: Servers) -> list[Figure]:
    library = thousand_documents(servers)
    models = servers.scratch / "with-reranker"
    if not models.exists():
        lay_out_reranker(models, layers=LAYERS, width=WIDTH)
        for model in library.models.iterdir():
            (models / model.name).symlink_to(model.resolve())
    asked = [
        tool_call("2026-07-28", "search_documents", {"query": one, "explain": True}).raw() for one in library.questions
    ]

    def searched(deadline: float, count: int) -> tuple[list[float], list[dict[str, Any]]]:
        server = server_of(servers, library, LOCI_MODELS=str(models), LOCI_RERANK_SECONDS=str(deadline))
        with serving(server) as served:
            return asyncio.run(_searched(served.port, asked[:count]))

    batch = _batch(models)
    # Half of what reading all takes on this machine, so that a fast one meets its deadline, too.
    _, unhurried = searched(LONG, TIMED)
    deadline = min(DEADLINE, min(stage["ms"] for stage in unhurried) / 2000)
    walls, stages = searched(deadline, QUESTIONS)
    reading = [stage["ms"] / 1000 for stage in stages]
    counts = [tuple(map(int, found.groups())) for stage in stages if (found := READ.search(stage["note"]))]
    if len(counts) < len(stages):
        raise RuntimeError(
            f"the cross-encoder read nothing: {next(one for one in stages if not READ.search(one['note']))}"
        )
    every = all(read == of for read, of in counts)
    return [
        Figure(
            "search_documents with a cross-encoder: its part",
            budget=f"all passages read, or <= {milliseconds(deadline)} and a passage",
            measured=f"p95 {milliseconds(p95(reading))}, {_read(counts)} passages read",
            verdict=verdict(kept=every or p95(reading) <= deadline + p95(batch)),
            bare=f"a passage {milliseconds(median(batch))}, p95 {milliseconds(p95(batch))}",
            loci=milliseconds(median(reading)),
            numbers={"seconds": reading, "batch_seconds": batch, "whole_seconds": walls, "passages": counts},
        ),
        Figure(
            "search_documents with a cross-encoder: over HTTP",
            budget="",
            measured=f"p95 {milliseconds(p95(walls))}",
            verdict="no budget",
            loci=milliseconds(median(walls)),
        ),
    ]


def _read(counts: Sequence[tuple[int, ...]]) -> str:
    """How many of the passages a search read."""
    read, of = (mean(column) for column in zip(*counts, strict=True))
    return f"{read:.0f} of {of:.0f}"


def _batch(models: Path) -> list[float]:
    """What the last one takes that was begun in time."""
    reranker = OnnxReranker(CurrentModel(ModelsFolder(models), "reranker", RERANKER))
    texts = ["A passage that is longer than what the model reads. " * 5]
    walls: list[float] = []
    for _ in range(21):
        began = time.perf_counter()
        reranker.scores("what is the question", texts, seconds=60)
        walls.append(time.perf_counter() - began)
    return walls[1:]


async def _searched(port: int, asked: Sequence[bytes]) -> tuple[list[float], list[dict[str, Any]]]:
    walls, stages = list[float](), list[dict[str, Any]]()
    async with connected(port) as connection:
        await connection.call(asked[0])
        for raw in asked:
            seconds, body = await connection.answer(raw)
            walls.append(seconds)
            stages.append(_stage(body))
    return walls, stages


def _stage(body: str) -> dict[str, Any]:
    answer = json.loads(body.partition("data: ")[2] if body.startswith("event:") else body)
    stages: list[dict[str, Any]] = answer["result"]["structuredContent"]["metadata"]["stages"]
    return next(stage for stage in stages if stage["stage"] == "rerank")
