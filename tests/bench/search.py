"""Searching and reading documents over MCP, without a cross-encoder, beside the least that a search costs, in turns."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle, islice

from loci.app import App
from loci.core.identity import LOCAL
from loci.documents.ingest.index_writer import COLLECTION
from loci.documents.tools.search_results import PASSAGE, search_results
from loci.scratchpad.api import Scratchpad
from loci.search.ranking import QueryVector, Where
from tests.bench.calls import tool_call
from tests.bench.children import Floor, Function, Serving, floor, function, serving
from tests.bench.connection import connected
from tests.bench.figures import Figure, growth_figure, ratio_figure, tail_figure, time_figure
from tests.bench.library import Library, app_on, many_passages, server_of, thousand_documents
from tests.bench.servers import Servers

WIRE = "2026-07-28"
PASSAGES = 100_000
A_TURN = 20
FEW, MANY = 100, 1000
BY_WORDS = 6_000
ENTRY = 8_000
"""Bytes of a kept answer."""
EVERYWHERE = Where()


@dataclass(frozen=True, slots=True)
class _Turns:
    """One library, searched in every way."""

    library: Library
    app: App
    floor: Floor
    function: Function
    served: Serving
    over_http: list[float] = field(default_factory=list[float])
    in_process: list[float] = field(default_factory=list[float])
    nearest: list[float] = field(default_factory=list[float])

    async def run(self) -> None:
        """Every question to each, a few at a time."""
        questions = self.library.questions
        await self._turn(questions[:A_TURN])
        self._forget()  # the first ones load models and vectors
        for first in range(0, len(questions), A_TURN):
            await self._turn(questions[first : first + A_TURN])

    async def _turn(self, questions: Sequence[str]) -> None:
        posts = [tool_call(WIRE, "search_documents", {"query": one}) for one in questions]
        asked = [self.app.documents.parts.embedder.query(one) for one in questions]
        self.floor.run(questions)
        async with connected(self.served.port) as connection:
            for post in posts:
                seconds, body = await connection.answer(post.raw())
                if '"lines"' not in body:  # made-up ones may be about nothing; the work is done all the same
                    raise RuntimeError(f"nothing was found: {body}")
                self.over_http.append(seconds)
        self.in_process.extend(self.function.run(post, 1).walls[0] for post in posts)
        for one in asked:
            began = time.perf_counter()
            vector = QueryVector.of(one.model, one.vector)
            self.app.documents.parts.index.candidates(LOCAL, COLLECTION, [], vector, limit=50, where=EVERYWHERE)
            self.nearest.append(time.perf_counter() - began)

    def _forget(self) -> None:
        for kept in (self.over_http, self.in_process, self.nearest):
            kept.clear()
        self.floor.took.clear()


def search(servers: Servers) -> list[Figure]:
    """A thousand documents."""
    library = thousand_documents(servers)
    served = _searched(servers, library, "1,000 documents", most=2.8)
    return [*served, _read(servers, library), _memory(servers, library)]


def passages(servers: Servers) -> list[Figure]:
    """A hundred thousand passages of ten thousand documents."""
    library = many_passages(servers, PASSAGES)
    served = _searched(servers, library, "100,000 passages", most=1.0)
    return [*served, _memory(servers, library, f" of {len(library.documents):,} documents", most=1.3)]


def words(servers: Servers) -> list[Figure]:
    """Searches by words alone: processor time in ten times the notes beside that in one time, in turns."""
    few, many = (many_passages(servers, count) for count in (BY_WORDS, 10 * BY_WORDS))
    apps = [app_on(one.data, servers.scratch / "no models") for one in (few, many)]
    figures = list[Figure]()
    took = [[_processor_time(app, one) for app in apps] for one in few.questions]
    again = [[_processor_time(app, one) for app in apps] for one in few.questions]
    for what, turns in (("first", took[A_TURN:]), ("again", again)):
        name = f"words only, {10 * BY_WORDS:,} passages beside {BY_WORDS:,}: {what}"
        figures.append(ratio_figure(name, *zip(*turns, strict=True), most=3.0))
    return figures


def _processor_time(app: App, question: str) -> float:
    began = time.process_time()
    found = app.documents.search(LOCAL, question, limit=A_TURN, room=PASSAGE)
    search_results(found, question, explain=False)
    return time.process_time() - began


def _searched(servers: Servers, library: Library, what: str, *, most: float) -> list[Figure]:
    server = server_of(servers, library)
    _fill(app_on(library.data, library.models).scratchpad)
    with ExitStack() as stack:
        turns = _Turns(
            library,
            app_on(library.data, library.models),
            stack.enter_context(floor(library.data, library.models)),
            stack.enter_context(function(server)),
            stack.enter_context(serving(server)),
        )
        asyncio.run(turns.run())
    took = turns.floor.took
    return [
        time_figure(f"search_documents, {what}: over HTTP", took["all"], turns.over_http, most_ratio=most),
        time_figure(f"search_documents, {what}: in process", took["all"], turns.in_process),
        time_figure(f"vector leg alone, {what}", took["vector"], turns.nearest),
        tail_figure(f"search_documents, {what}: a full scratchpad, over HTTP", turns.over_http, most=3.0),
    ]


def _fill(pad: Scratchpad) -> None:
    """Fill the scratchpad, as that of a busy user is: from then on, searches make room."""
    for number in range(pad.capacity // ENTRY + 1):
        pad.keep(LOCAL, "search_documents", "x" * ENTRY, call=str(number))
    pad.close()


def _read(servers: Servers, library: Library) -> Figure:
    """Documents one after another, beside the reading of a file."""
    server = server_of(servers, library)
    posts = [
        tool_call(WIRE, "read_node_content", {"id": id}).raw()
        for id in library.documents[:: len(library.documents) // 200]
    ]
    files = sorted(library.notes.rglob("*.md"))

    async def read(served: Serving) -> tuple[list[float], list[float]]:
        plain, loci = list[float](), list[float]()
        async with connected(served.port) as connection:
            for post in posts[:A_TURN]:
                await connection.call(post)
            for post, file in zip(posts, files, strict=False):
                began = time.perf_counter()
                file.read_text("utf-8")
                plain.append(time.perf_counter() - began)
                loci.append(await connection.call(post))
        return plain, loci

    with serving(server) as served:
        plain, loci = asyncio.run(read(served))
    return time_figure("read_node_content: over HTTP", plain, loci, 0.003)


def _memory(servers: Servers, library: Library, what: str = "", most: float = 1.2) -> Figure:
    """Resident memory after many searches against that after few."""
    server = server_of(servers, library)
    posts = cycle(tool_call(WIRE, "search_documents", {"query": one}).raw() for one in library.questions)

    async def search(served: Serving, calls: int) -> int:
        async with connected(served.port) as connection:
            for post in islice(posts, calls):
                await connection.call(post)
        return served.resident()

    with serving(server) as served:
        few, many = asyncio.run(search(served, FEW)), asyncio.run(search(served, MANY - FEW))
    return growth_figure(f"memory after {MANY:,} searches{what} against after {FEW}", few, many, most)
