"""Large texts and tables of text: they are read in another process, also on a machine without a wall or a runner."""

import os
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core import worker_process
from loci.core.errors import Unavailable
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.files import cutting
from tests.support.processes import children, command_line
from tests.surface.conftest import Connect
from tests.surface.files.searches import call
from tests.unit.linear.shapes import log

pytestmark = pytest.mark.anyio
LOG = f"{log(300_000)}a lighthouse\n{log(300_000)}"
ROWS = "City,Cost\nBerlin,40\n" + "Oslo,9\n" * 20_000


@pytest.fixture
def app(tmp_path: Path) -> Generator[App]:
    """A server whose runner is not installed."""
    settings = {"data": tmp_path, "models": tmp_path / "models", "runner": tmp_path / "none"}
    with closing(build_app(load_settings(settings))) as app:
        yield app


def reading_processes() -> int:
    return sum(worker_process.PROGRAM.encode() in command_line(one) for one in children(os.getpid()))


async def test_a_large_log_and_a_table_of_text_are_read_beside_the_server_without_a_runner(
    app: App, connect: Connect
) -> None:
    [file] = await call(connect, "add_memory", name="server.log", text=LOG)
    assert (file["status"], reading_processes()) == ("okay", 1)
    found = await call(connect, "search_memory", parsed_query="lighthouse")
    [first, last] = found["results"][0]["passages"][0]["locator"]["lines"]
    line = LOG[: LOG.index("a lighthouse")].count("\n") + 1
    assert first <= line <= last
    table = app.files.add(LOCAL, "costs.csv", ROWS.encode(), wait=None)
    assert (table.newest.status, table.newest.format, table.newest.tables) == ("okay", "csv", 1)
    small = app.files.add(LOCAL, "few.csv", b"City,Cost\nBerlin,40\n", wait=None)
    assert small.newest.status == "okay"
    again = app.files.add(LOCAL, "server.log", f"{LOG}the end\n".encode(), wait=None)  # cuts the older one, too
    assert (again.newest.status, again.newest.number) == ("okay", 2)
    assert app.files.compare(LOCAL, again.id).total == 1


async def test_a_large_text_that_a_busy_machine_does_not_read_waits_until_there_is_time(
    app: App, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as busy:
        busy.setattr(worker_process, "PATIENCE", 0)
        [file] = await call(connect, "add_memory", name="server.log", text=LOG)
    assert file["status"] == "pending"
    assert "too busy" in file["reason"]
    app.files.upkeep.finish(LOCAL)
    [told] = await call(connect, "ingestion_status", memory_ids=[file["id"]])
    assert told["status"] == "okay"
    cited = {"chunk_id": f"{file['id']}#1", "text": "a lighthouse"}
    assert len((await call(connect, "verify_citation", **cited))["elsewhere"]) == 1
    with monkeypatch.context() as busy:
        busy.setattr(worker_process, "PATIENCE", 0)
        with pytest.raises(Unavailable, match="too busy"):
            app.files.verify(LOCAL, **cited)


async def test_a_large_text_that_takes_too_long_is_refused(
    app: App, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "PATIENCE", 1_000_000)
    monkeypatch.setattr(cutting, "SECONDS", 0.001)
    [file] = await call(connect, "add_memory", name="server.log", text=LOG)
    assert (file["status"], "takes too long" in file["reason"]) == ("error", True)
