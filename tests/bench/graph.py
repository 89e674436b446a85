"""Links, neighbours, gaps and clusters over MCP, on libraries of a thousand and of ten thousand linked documents."""

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from loci.app import App
from loci.core.identity import LOCAL
from loci.core.ids import content_id
from loci.core.stores import ABSENT
from loci.documents.ingest.index_writer import COLLECTION
from loci.markdown.nouns import Mention, WrittenLinks
from loci.search.inference import Embedding
from loci.search.ranking import Chunk, TagsAndDate
from tests.bench.calls import tool_call
from tests.bench.children import Serving, serving
from tests.bench.connection import connected
from tests.bench.figures import Figure, time_figure
from tests.bench.library import Library, app_on, embedding_model, known_document, models_of, server_of
from tests.bench.servers import Servers
from tests.bench.texts import Texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

WIRE = "2026-07-28"
FEW, CLUSTERED, MANY = 1_000, 2_000, 10_000
LINKS = 4
SUBJECTS = 50
"""Documents are spread around so many directions: those of one are alike."""
SPREAD = 0.6
CALLS, LONG_CALLS, WARM = 200, 11, 3
THRESHOLD, LIMIT = 0.8, 10
CHEAPEST = "scratchpad_list"


def graph(servers: Servers) -> list[Figure]:
    """The tools of the graph."""
    return [
        *_measured(servers, FEW, gaps=0.060),
        *_measured(servers, MANY, neighbours=0.010, gaps=3.0),
        _clustered(servers),
    ]


def _clustered(servers: Servers) -> Figure:
    """Each call asks for another method than the one before, so that nothing is remembered but the vectors."""
    rows = _rows(CLUSTERED, _dimensions(servers))
    library = linked_documents(servers, CLUSTERED, rows)
    asked = [{"method": one} for one in ("tags", "louvain") * LONG_CALLS]
    with serving(server_of(servers, library)) as served:
        took = _calls(served, "cluster_documents", asked)[1::2]
    return time_figure(f"cluster_documents by louvain, {CLUSTERED:,} documents", _floor(rows), took, 5.0)


def _measured(servers: Servers, count: int, *, gaps: float, neighbours: float | None = None) -> list[Figure]:
    rows = _rows(count, _dimensions(servers))
    library = linked_documents(servers, count, rows)
    some, others = _some(library, CALLS), _some(library, CALLS, seed=10)
    with serving(server_of(servers, library)) as served:
        first = _calls(served, "explore_links", [{"id": one} for one in some])
        deep = _calls(served, "graph_neighbors", [{"id": one, "depth": 3} for one in some])
        found = _calls(served, "find_gaps", [{"limit": LIMIT, "threshold": THRESHOLD}] * LONG_CALLS)
        links, cheapest = _in_turns(served, "explore_links", [{"id": one} for one in others if one not in some])
    lookups, floor = _lookups(library), _floor(rows)
    return [
        time_figure(f"explore_links, {count:,} documents, just started", lookups, first),
        time_figure(
            f"explore_links, {count:,} documents, of others later; beside it: scratchpad_list", cheapest, links, 0.003
        ),
        time_figure(f"graph_neighbors to depth 3, {count:,} documents", lookups, deep, neighbours),
        time_figure(f"find_gaps, {count:,} documents", floor, found, gaps),
    ]


def linked_documents(servers: Servers, count: int, rows: "Floats") -> Library:
    """So many documents of one passage, with links to others, written through the ports."""
    data, models = servers.scratch / f"linked-{count}", models_of(servers)
    app, texts, choice = app_on(data, models), Texts(5), random.Random(5)
    model = embedding_model(app).identity
    ids = [f"made-up-{number:05}" for number in range(count)]
    for id, row in zip(ids, rows, strict=True):
        text = texts.prose(40, texts.words(10))
        targets = choice.sample(ids, LINKS)
        mentions = (Mention(one, "name", "references", line, f"See {one}") for line, one in enumerate(targets, 1))
        _write(
            app, id, text, WrittenLinks(mentions=tuple(mentions)), Embedding(model, row.astype("<f2").tobytes(), b"")
        )
    return Library(data, models, ids, [], data)


def _write(app: App, id: str, text: str, said: WrittenLinks, embedding: Embedding) -> None:
    where = f"{id}#0", id, f"{id}.md", "Made up", (), 1, 1
    app.documents.parts.catalog.put_mentions(LOCAL, id, said)
    app.documents.parts.index.put(
        LOCAL, COLLECTION, id, [Chunk(*where, text, content_id(text), text.lower(), embedding)], TagsAndDate()
    )
    app.documents.parts.catalog.put(LOCAL, known_document(id, 1, embedding.model), ABSENT)


def _dimensions(servers: Servers) -> int:
    return embedding_model(app_on(servers.scratch / "none", models_of(servers))).dimensions


def _rows(count: int, dimensions: int) -> "Floats":
    import numpy as np

    random = np.random.default_rng(7)
    subjects = random.standard_normal((SUBJECTS, dimensions))
    rows = subjects[random.integers(SUBJECTS, size=count)] + SPREAD * random.standard_normal((count, dimensions))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _some(library: Library, count: int, seed: int = 9) -> list[str]:
    return random.Random(seed).sample([*library.documents], count)


def _calls(served: Serving, tool: str, arguments: Sequence[Mapping[str, object]]) -> list[float]:
    posts = [tool_call(WIRE, tool, one).raw() for one in arguments]

    async def timed() -> list[float]:
        async with connected(served.port) as connection:
            for post in posts[:WARM]:
                await connection.call(post)
            return [await connection.call(post) for post in posts]

    return asyncio.run(timed())


def _in_turns(served: Serving, tool: str, arguments: Sequence[Mapping[str, object]]) -> tuple[list[float], list[float]]:
    """What the calls take, and what the cheapest call takes after each of them."""
    posts, cheapest = [tool_call(WIRE, tool, one).raw() for one in arguments], tool_call(WIRE, CHEAPEST, {}).raw()

    async def timed() -> list[tuple[float, float]]:
        async with connected(served.port) as connection:
            for post in posts[:WARM]:
                await connection.call(post)
            return [(await connection.call(post), await connection.call(cheapest)) for post in posts]

    took = asyncio.run(timed())
    return [one for one, _ in took], [other for _, other in took]


def _lookups(library: Library) -> list[float]:
    """What it takes to read one document's record."""
    app, took = app_on(library.data, library.models), list[float]()
    for id in _some(library, CALLS):
        began = time.perf_counter()
        app.documents.parts.catalog.document(LOCAL, id)
        took.append(time.perf_counter() - began)
    return took


def _floor(rows: "Floats") -> list[float]:
    """All pairs in plain NumPy: a thousand rows at a time against all behind them."""
    import numpy as np

    took: list[float] = []
    for _ in range(LONG_CALLS):
        began = time.perf_counter()
        for start in range(0, len(rows), 1000):
            near = rows[start : start + 1000] @ rows[start:].T
            np.argwhere(near >= THRESHOLD)
        took.append(time.perf_counter() - began)
    return took
