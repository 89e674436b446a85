"""A call that adds a file tells how far it is, if its client asked; `ingestion_status` tells it to others."""

import re
import threading
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import anyio.to_thread
import pytest
from reportlab.pdfgen.canvas import Canvas

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.files.file import FileStage
from tests.support.executors import runner_packages
from tests.support.polling import until, until_told
from tests.support.small_models import EMBEDDER, small_models
from tests.surface.conftest import Connect
from tests.surface.results import structured, texts

__all__ = ["small_models"]
pytestmark = pytest.mark.anyio
PAGES = 200
Told = tuple[float, float | None, str]


@pytest.fixture
def app(tmp_path: Path, small_models: Path, library: Path) -> Generator[App]:
    runner_packages()
    told = {"data": tmp_path / "data", "models": small_models, "embedder": EMBEDDER, "file_roots": [str(library)]}
    with closing(build_app(load_settings(told))) as app:
        yield app


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("library")


@pytest.fixture(scope="module")
def book(library: Path) -> Path:
    canvas = Canvas(str(library / "book.pdf"))
    for number in range(1, PAGES + 1):
        for line in range(20):
            canvas.drawString(72, 700 - 20 * line, f"Line {line} of page {number} says that the heron waits here.")
        canvas.showPage()
    canvas.save()
    return library / "book.pdf"


def held(app: App, monkeypatch: pytest.MonkeyPatch, stage_of: str) -> threading.Event:
    """The work on files stands still at stages that begin so, until this is set."""
    stages, seen = app.files.parts.ingest.stages, threading.Event()
    enter = stages.enter

    def enter_and_wait(owner: Owner, id: str, stage: FileStage | None) -> None:
        enter(owner, id, stage)
        if stage is not None and stage.text.startswith(stage_of):
            seen.wait(60)

    monkeypatch.setattr(stages, "enter", enter_and_wait)
    return seen


async def test_while_a_long_file_is_read_its_call_tells_the_pages_a_few_times_a_second(
    connect: Connect, app: App, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Told] = []
    seen = held(app, monkeypatch, "read ")

    async def keep(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, str(message)))
        if total == PAGES:
            seen.set()

    async with connect("files") as client:
        began = time.monotonic()
        answer = await client.call_tool("add_memory", {"path": str(book)}, progress_callback=keep)
        seconds = time.monotonic() - began
    assert not answer.is_error, texts(answer)
    assert told[0] == (0, None, "accepted")
    done = [one for one, _, _ in told]
    assert done == sorted(set(done))
    pages = [one for one in told if re.fullmatch(rf"read [0-9,]+ of {PAGES:,} pages", one[2])]
    assert pages
    assert {total for _, total, _ in pages} == {PAGES}
    assert len(told) <= seconds * 4 + 2


async def test_the_status_tells_how_many_pages_are_read(
    connect: Connect, app: App, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = held(app, monkeypatch, "read ")
    file = app.files.add(LOCAL, book.name, book.read_bytes(), wait=0)
    stages = app.files.parts.ingest.stages

    def pages() -> bool:
        stage = stages.get(LOCAL, file.id)
        return stage is not None and stage.total == PAGES

    until(pages)
    async with connect("files") as client:
        [row] = structured(await client.call_tool("ingestion_status", {"memory_ids": [file.id]}))["result"]
    assert row["status"] == "running"
    assert re.fullmatch(rf"read [0-9,]+ of {PAGES:,} pages", row["stage"])
    seen.set()
    until(lambda: app.files.status(LOCAL, [file.id])[0].newest.status == "okay")
    assert stages.get(LOCAL, file.id) is None


async def test_while_passages_are_embedded_the_status_tells_how_many(
    connect: Connect, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"# Part {number}\n\nHere stands the word number{number}.\n\n" for number in range(1000))
    file = app.files.add(LOCAL, "long.md", text.encode())
    seen = held(app, monkeypatch, "embedded ")
    embedding = threading.Thread(target=app.files.upkeep.embed_missing, args=(LOCAL,))
    embedding.start()
    async with connect("files") as client:

        async def stage() -> str | None:
            [row] = structured(await client.call_tool("ingestion_status", {"memory_ids": [file.id]}))["result"]
            return row["stage"]

        assert re.fullmatch(r"embedded [0-9]+ of 1,000 passages", await until_told(stage) or "")
        seen.set()
        await anyio.to_thread.run_sync(embedding.join)
        assert await stage() is None
