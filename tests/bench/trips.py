"""The trip of a call: the files of Loci that it passes, and how often it hops from one file to another.

Each call is made twice through the HTTP application, words only; the second trip is counted, on every thread. A hop is
a call of a function that lies in another file than the function called before it on the same thread.
"""

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import httpx2

import loci
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.bench.figures import Figure, verdict
from tests.bench.servers import Servers
from tests.bench.texts import Texts
from tests.support.files.papers import flowing, paragraph

ROOT = str(Path(next(iter(loci.__path__))))
JOURNAL = Path(__file__).parents[1] / "servers" / "upstream" / "journal.py"
NOTES = 12
MOST_HOPS = {"search_documents": 120}
MOST_FILES = {"search_documents": 45, "run_memory_code": 45, "pml_execute_dag": 60, "add_memory": 65}


@dataclass(slots=True)
class Trip:
    """The functions that were called, and where."""

    calls: int = 0
    hops: int = 0
    files: dict[str, int] = field(default_factory=dict[str, int])
    functions: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    _last: dict[int, str] = field(default_factory=dict[int, str])

    def enter(self, file: str, function: str) -> None:
        thread = threading.get_ident()
        self.calls += 1
        self.hops += self._last.get(thread, file) != file
        self._last[thread] = file
        self.files[file] = self.files.get(file, 0) + 1
        self.functions.add((file, function))


class Counter:
    """Counts on all threads, but only while a trip is on."""

    def __init__(self) -> None:
        self._trip: Trip | None = None

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        trip = self._trip
        if trip is not None and event == "call" and frame.f_code.co_filename.startswith(ROOT):
            trip.enter(frame.f_code.co_filename[len(ROOT) + 1 :], frame.f_code.co_qualname)

    async def trip(self, call: Callable[[], Awaitable[object]]) -> Trip:
        await call()
        await asyncio.sleep(1)  # what the first call leaves to the background is no part of the second
        trip = self._trip = Trip()
        try:
            await call()
        finally:
            self._trip = None
        return trip


def trips(_: Servers) -> list[Figure]:
    counter = Counter()
    with _profiled(counter):
        counted = asyncio.run(_counted(counter))
    return [figure for tool, trip in counted.items() for figure in _figures(tool, trip)]


@contextmanager
def _profiled(counter: Counter) -> Generator[None]:
    """Before a thread starts, so that all are counted."""
    threading.setprofile(counter.profile)
    sys.setprofile(counter.profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def _counted(counter: Counter) -> Mapping[str, Trip]:
    with TemporaryDirectory(prefix="loci-trips-") as folder:
        async with _client(Path(folder)) as call:
            executor = (await call("create_memory_code_runner"))["result"]["executor_id"]
            papers = iter([_paper(Path(folder), number) for number in range(2)])
            tasks = [_echo("a"), _echo("b", "a")]
            return {
                "search_documents": await counter.trip(lambda: call("search_documents", query="winter harbour letter")),
                "run_memory_code": await counter.trip(
                    lambda: call("run_memory_code", executor_id=executor, code="print(1)")
                ),
                "pml_execute_dag": await counter.trip(lambda: call("pml_execute_dag", workflow={"tasks": tasks})),
                "add_memory": await counter.trip(lambda: call("add_memory", path=str(next(papers)))),
            }


@asynccontextmanager
async def _client(folder: Path) -> AsyncGenerator[Callable[..., Awaitable[dict[str, Any]]]]:
    places = {"data": folder / "data", "models": folder / "models", "file_roots": [str(folder)]}
    settings = {**places, "mode": "embedded", "log_level": "ERROR"}
    app = build_app(load_settings(settings))
    texts = Texts()
    notes = folder / "notes"
    notes.mkdir()
    for number in range(NOTES):
        (notes / f"note-{number:03}.md").write_text(texts.document(), "utf-8")
    app.documents.ingest(LOCAL, [str(notes)])
    app.tools.add(LOCAL, "journal", {"command": sys.executable, "args": [str(JOURNAL), str(folder / "journal")]})
    app.tools.ask(LOCAL, "journal")
    headers = {"accept": "application/json", "authorization": f"Bearer {app.api_keys.create(LOCAL, 'trips')[1]}"}
    application = asgi(app)

    async def call(tool: str, **arguments: object) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        answer = await client.post("/mcp", json=message, headers=headers)
        result: dict[str, Any] = answer.json()["result"]
        if result.get("isError"):
            raise RuntimeError(f"{tool}: {result['content']}")
        return result["structuredContent"]

    try:
        async with application.router.lifespan_context(application):
            transport = httpx2.ASGITransport(app=application)
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client:
                yield call
    finally:
        app.close()


def _echo(id: str, *after: str) -> dict[str, Any]:
    return {"id": id, "tool": "journal:echo", "arguments": {"value": 1}, "dependsOn": [*after]}


def _paper(folder: Path, number: int) -> Path:
    path = folder / f"paper-{number}.pdf"
    path.write_bytes(flowing(paragraph(f"Letter {number}", "Heading1"), paragraph("The harbour froze in winter.")))
    return path


def _figures(tool: str, trip: Trip) -> Iterator[Figure]:
    numbers = {"files": trip.files, "functions": len(trip.functions), "calls": trip.calls, "hops": trip.hops}
    yield _figure(f"files that {tool} passes", len(trip.files), MOST_FILES[tool], numbers)
    yield _figure(f"hops from file to file of {tool}", trip.hops, MOST_HOPS.get(tool), numbers)


def _figure(name: str, count: int, most: int | None, numbers: Mapping[str, object]) -> Figure:
    return Figure(
        name,
        budget="" if most is None else f"<= {most}",
        measured=f"{numbers['functions']} functions, {numbers['calls']} calls",
        verdict="no budget" if most is None else verdict(kept=count <= most),
        loci=str(count),
        numbers=numbers,
    )
