"""A result that cannot be kept: its head comes all the same, without `scratchpad_id`, and says why."""

import resource
import shutil
import subprocess
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, cast

import jsonschema
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from mcp import Client

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from loci.mcp.tool import loci_tool
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call, structured, texts, written
from tests.surface.runtimes import take_in

pytestmark = pytest.mark.anyio
embedded = pytest.mark.parametrize("app", ["embedded"], indirect=True)
on_aws = pytest.mark.parametrize("app", ["aws"], indirect=True)
SENTENCES = "The ferry to the island leaves at nine. " * 18
NOTES = {f"{n}.md": f"# Ferry {n}\n\n{SENTENCES}\n" for n in range(60)}
FULL = 32 * 1024


def report() -> str:
    """Write a lot."""
    return "A line of a long report.\n" * 4000


@contextmanager
def full_disk() -> Generator[None]:
    """No file may grow beyond some bytes, as if the disk were full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FULL, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def closed_folder(app: App) -> Generator[None]:
    """There is a file where the folder of the blobs would be."""
    folder = app.settings.data / "blobs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.write_text("no folder")
    try:
        yield
    finally:
        folder.unlink()


def fill(disk: Path) -> None:
    """Write until nothing more fits."""
    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 4096)


def without_disk(app: App, how: str) -> AbstractContextManager[None]:
    return full_disk() if how == "full" else closed_folder(app)


def is_head_without_id(answer: Any, said: str) -> None:
    """The answer is no error, has what was found, names no entry and says why."""
    assert not answer.is_error, texts(answer)
    assert "scratchpad_id" not in structured(answer)
    assert said in structured(answer)["not_kept"]
    assert "scratchpad_read" not in "".join(texts(answer))


@embedded
@each("how", ["full", "closed"])
async def test_a_search_does_not_fail_because_it_cannot_be_kept(
    app: App, connect: Connect, tmp_path: Path, how: str
) -> None:
    take_in(app, written(tmp_path / "notes", NOTES))
    async with connect() as client:
        whole = await client.call_tool("search_documents", {"query": "ferry island", "limit": 50})
        app.records.remove(LOCAL, "scratchpad", structured(whole)["scratchpad_id"])
        with without_disk(app, how):
            answer = await client.call_tool("search_documents", {"query": "ferry island", "limit": 50})
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        after = await client.call_tool("search_documents", {"query": "ferry island", "limit": 50})
    is_head_without_id(answer, "Cannot use ")
    assert structured(answer)["results"] == structured(whole)["results"]
    schema = listed["search_documents"].output_schema
    assert schema
    jsonschema.validate(structured(answer), schema)
    assert structured(after)["scratchpad_id"]


async def test_a_disk_that_is_really_full_takes_no_answer_away(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if not mount or subprocess.run([mount, "-t", "tmpfs", "-o", "size=64m", "loci", disk], check=False).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        app = build_app(load_settings({"data": disk, "models": tmp_path / "models"}))
        take_in(app, written(tmp_path / "notes", NOTES))
        fill(disk)
        found = app.documents.search(LOCAL, "ferry island", limit=50, room=60).ranking
        assert len(found.hits) == 50
        async with Client(build_server(app)) as client:
            answer = await client.call_tool("search_documents", {"query": "ferry island", "limit": 50})
            read = await client.call_tool("read_node_content", {"id": "notes-1"})
        is_head_without_id(answer, "No space left on device")
        assert not read.is_error
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


@embedded
@each("how", ["full", "closed"])
async def test_a_long_answer_comes_without_a_disk(app: App, connect: Connect, how: str) -> None:
    async with connect(extra=(loci_tool(report, title="Report"),)) as client:
        with without_disk(app, how):
            answer = await client.call_tool("report", {})
    is_head_without_id(answer, "Cannot use ")
    assert texts(answer)[0].startswith("A line of a long report.\n")
    assert len(texts(answer)[0]) > 10_000


@embedded
async def test_a_failure_leaves_nothing_behind(app: App, connect: Connect) -> None:
    async with connect(extra=(loci_tool(report, title="Report"),)) as client:
        with full_disk():
            await client.call_tool("report", {})
    assert app.scratchpad.list(LOCAL) == []
    assert [file for file in (app.settings.data / "blobs").rglob("*") if file.is_file()] == []


# AWS


def throttle(*_: object, **__: object) -> NoReturn:
    raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "Too much"}}, "Any")


def unplug(*_: object, **__: object) -> NoReturn:
    raise EndpointConnectionError(endpoint_url="https://nowhere.example")


@pytest.fixture
def clients(app: App) -> Iterator[Clients]:
    """The clients of the app's stores."""
    records, blobs = cast("DynamoRecords", app.records), cast("S3Blobs", app.blobs)
    assert vars(records)["_clients"] is vars(blobs)["_clients"]
    return vars(records)["_clients"]


@on_aws
@each("failing", ["s3.PutObject", "dynamodb.PutItem", "dynamodb.GetItem"])
@each(("fail", "said"), [(throttle, "ThrottlingException"), (unplug, "cannot be reached")])
async def test_a_store_that_fails_takes_no_answer_away(
    connect: Connect, clients: Clients, failing: str, fail: Any, said: str
) -> None:
    service, _ = failing.split(".")
    async with connect(extra=(loci_tool(report, title="Report"),)) as client:
        getattr(clients, service).meta.events.register(f"before-call.{failing}", fail)
        answer = await client.call_tool("report", {})
        getattr(clients, service).meta.events.unregister(f"before-call.{failing}", fail)
        later = await call(connect, "scratchpad_list")
    is_head_without_id(answer, said)
    assert later["entries"] == []


@on_aws
async def test_a_kept_result_is_named_although_no_room_could_be_made(connect: Connect, clients: Clients) -> None:
    async with connect(extra=(loci_tool(report, title="Report"),)) as client:
        clients.dynamodb.meta.events.register("before-call.dynamodb.Query", throttle)
        answer = await client.call_tool("report", {})
        clients.dynamodb.meta.events.unregister("before-call.dynamodb.Query", throttle)
        read = await client.call_tool("scratchpad_read", {"id": structured(answer)["scratchpad_id"]})
    assert texts(read)[0] == report()


@on_aws
async def test_a_text_whose_record_fails_is_removed_again(app: App, connect: Connect, clients: Clients) -> None:
    clients.dynamodb.meta.events.register("before-call.dynamodb.PutItem", throttle)
    async with connect(extra=(loci_tool(report, title="Report"),)) as client:
        await client.call_tool("report", {})
    assert app.blobs.list(LOCAL) == []
