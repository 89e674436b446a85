"""A full disk: every tool says so, nothing is lost or leaked, deletions work, and all goes on once there is room."""

import json
import os
from collections.abc import AsyncGenerator, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.adapters.local.data_folder import RESERVE_BYTES
from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from loci.runtimes.local import keep_room
from tests.support.polling import until
from tests.support.processes import descendants
from tests.support.serving import loci
from tests.support.small_disk import SmallDisk, small_disk
from tests.surface.results import error_of, structured, texts, written

pytestmark = pytest.mark.anyio
NOTES = {f"n{n}.md": f"# Note {n}\n\nThe ferry {n} sails.\n" for n in range(20)}
LONG = "".join(f"## Part {n}\n\nword{n} alpha{n % 977} beta{n % 577} in a sentence\n\n" for n in range(600))


@pytest.fixture
def disk(tmp_path: Path) -> Generator[SmallDisk]:
    with small_disk(tmp_path / "disk", 96) as disk:
        yield disk


@pytest.fixture
def app(disk: SmallDisk, tmp_path: Path) -> Generator[App]:
    """A server's parts, with a data folder and documents on the disk."""
    app = build_app(load_settings({"data": disk.folder / "data", "models": tmp_path / "models"}))
    with closing(app):
        keep_room(app.settings)
        app.documents.ingest(LOCAL, [str(written(disk.folder / "notes", NOTES))])
        yield app


@pytest.fixture
async def client(app: App) -> AsyncGenerator[Client]:
    async with Client(build_server(app), mode="2026-07-28") as client:
        yield client


async def answered(client: Client, tool: str, **arguments: object) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, texts(answer)
    return structured(answer)


async def code_of(client: Client, tool: str, **arguments: object) -> str:
    return error_of(await client.call_tool(tool, arguments))["code"]


def reserved(app: App) -> int:
    return (app.settings.data / "reserve").stat().st_size


async def test_each_tool_says_that_the_disk_is_full_and_goes_on_when_there_is_room(
    disk: SmallDisk, client: Client
) -> None:
    executor = (await answered(client, "create_memory_code_runner"))["result"]["executor_id"]
    await answered(client, "run_memory_code", executor_id=executor, code="x = 41")
    plan = {"tasks": [{"id": "a", "tool": "loci:search_documents", "arguments": {"query": "ferry"}}]}
    writes: list[tuple[str, dict[str, object]]] = [
        ("write_document", {"path": "notes/new.md", "content": "# New\n\nhello\n"}),
        ("inject_tags", {"file_path": "notes/n1.md", "tags": ["a"]}),
        ("move_document", {"path": "notes/n2.md", "to": "notes/moved.md"}),
        ("add_memory", {"name": "b.txt", "text": "a file"}),
        ("create_memory_code_runner", {}),
        ("pml_execute_dag", {"workflow": plan}),
    ]
    disk.fill()
    assert {tool: await code_of(client, tool, **given) for tool, given in writes} == {
        tool: "NO_SPACE" for tool, _ in writes
    }
    for tool, given in [
        ("search_documents", {"query": "ferry"}),
        ("read_node_content", {"id": "notes-n1"}),
        ("get_memorylake_metadata", {}),
    ]:
        assert not (await client.call_tool(tool, given)).is_error, tool
    ran = await answered(client, "run_memory_code", executor_id=executor, code="x + 1")
    assert ran["result"]["value"] == "42"
    disk.empty()
    for tool, given in writes:
        await answered(client, tool, **given)
    assert not {one.name for one in (disk.folder / "notes").iterdir() if one.name.startswith(".")}


async def test_runners_that_cannot_be_made_leave_no_process_and_no_folder(
    app: App, disk: SmallDisk, client: Client
) -> None:
    await answered(client, "create_memory_code_runner")
    folder = app.settings.data / "executors"

    def settled() -> tuple[int, int] | None:
        """The processes and the folders, once the spare executor is ready."""
        found = [*folder.glob("executor-*")]
        return (len(descendants(os.getpid())), len(found)) if len(found) == 2 else None

    until(settled)
    before = settled()
    disk.fill()
    for _ in range(4):
        assert await code_of(client, "create_memory_code_runner") == "NO_SPACE"
    until(lambda: settled() == before)


async def test_deletions_work_on_a_full_disk_again_and_again(app: App, disk: SmallDisk, client: Client) -> None:
    long = await answered(client, "write_document", path="notes/long.md", content=LONG)
    file = (await answered(client, "add_memory", name="a.txt", text="a file"))["result"][0]["id"]
    hashes = {one.path: one.sha256 for one in app.documents.parts.catalog.documents(LOCAL)}
    assert reserved(app) == RESERVE_BYTES
    disk.fill()
    await answered(client, "delete_document", path="notes/long.md", expected_hash=long["hash"])
    for number in range(10):
        path = f"notes/n{number}.md"
        await answered(client, "delete_document", path=path, expected_hash=hashes[path])
        assert reserved(app) > RESERVE_BYTES * 0.8
    await answered(client, "delete_memory", memory_ids=[file])
    assert len(app.documents.parts.catalog.documents(LOCAL)) == len(NOTES) - 10
    disk.empty()
    await answered(client, "undo_write", path="notes/long.md")
    assert reserved(app) == RESERVE_BYTES
    assert (disk.folder / "notes" / "long.md").read_text().strip() == LONG.strip()


def test_an_ingest_says_which_documents_are_in(disk: SmallDisk, tmp_path: Path) -> None:
    data = disk.folder / "data"
    folder = written(tmp_path / "many", {f"n{n:02}.md": f"# Note {n}\n\n{LONG[:20_000]}\n" for n in range(60)})
    loci(data, "ingest", str(written(tmp_path / "one", {"a.md": "# A\n"})))
    disk.fill(but=2_000_000)
    ended = loci(data, "ingest", str(folder), "--json")
    told = json.loads(ended.stdout)
    there, missing = told["processed"], told["missing"]
    assert (ended.returncode, told["error"]["code"]) == (1, "NO_SPACE"), ended.stderr
    assert 0 < there == 60 - len(missing)
    assert f"Of 60 documents {there} are in, and {len(missing)} are not: many/n" in ended.stderr
    findings = json.loads(loci(data, "doctor", "--json").stdout)["findings"]
    assert [one["name"] for one in findings if one["state"] == "fault"] == ["data folder", "disk"]
    assert loci(data, "forget", "many", "--yes").stdout == f"Forgot {there} documents.\n"
    assert loci(data, "ingest", str(folder / "n01.md")).returncode == 0
    disk.empty()
    assert "59 processed, 1 unchanged" in loci(data, "ingest", str(folder)).stdout
    assert loci(data, "doctor").returncode == 0
