"""Several instances of the ingestion at once, as queues and people have it: no version and no passage is lost."""

import asyncio
import json
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.core.identity import LOCAL
from loci.files.file import StoredFile
from loci.files.lake import FOLDER
from loci.files.search_query import COLLECTION
from loci.mcp.server import build_server
from tests.contract.file_readers import FUNCTION
from tests.e2e.test_files_on_aws import BUCKET, Deployed, deployment, pytestmark
from tests.support.functions import loaded
from tests.surface.results import structured, texts

__all__ = ["pytestmark"]
PLUMS, PEARS = b"fruit,price\nplum,3\n", b"fruit,price\npear,4\n"


@pytest.fixture
def deployed(tmp_path: Path) -> Generator[Deployed]:
    with deployment(tmp_path) as made:
        yield made


@pytest.fixture
def second(deployed: Deployed) -> Deployed:
    """Another instance of the ingestion, in the same deployment."""
    ingest = loaded(Path("ingest")).lambda_handler
    return Deployed(deployed.app, deployed.api, ingest, deployed.sqs, deployed.s3, deployed.queue, deployed.aside)


@dataclass
class Gate:
    """Stands before the function that reads files."""

    reached: threading.Event = field(default_factory=threading.Event)
    open: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def gate(deployed: Deployed) -> Generator[Gate]:
    gate, read = Gate(), deployed.api.functions[FUNCTION]

    def wait(event: dict[str, Any], context: object) -> object:
        gate.reached.set()
        assert gate.open.wait(120)
        return read(event, context)

    deployed.api.functions[FUNCTION] = wait
    yield gate
    gate.open.set()


@pytest.fixture
def threads() -> Generator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


def passages(deployed: Deployed) -> list[str]:
    return [one.text for one in deployed.app.files.parts.index.passages(LOCAL, COLLECTION)]


def key_of(message: dict[str, Any]) -> str:
    return json.loads(message["body"])["detail"]["object"]["key"]


def arriving(deployed: Deployed) -> list[str]:
    found = deployed.s3.list_objects_v2(Bucket=BUCKET, Prefix="files-in/").get("Contents", ())
    return [one["Key"] for one in found]


def until_taken(deployed: Deployed, *messages: dict[str, Any]) -> None:
    """Deliver what must come again, as the queue does."""
    for _ in range(10):
        again = set(deployed.take(*messages))
        messages = tuple(one for one in messages if one["messageId"] in again)
        if not messages:
            return
    raise AssertionError("the messages come again and again")


def assert_whole(deployed: Deployed, file: StoredFile) -> None:
    """The record, the passages and the blobs agree with each other."""
    current = file.current
    assert current is not None
    assert current == file.newest
    assert len(passages(deployed)) == current.chunks
    assert [file.name] == deployed.found(passages(deployed)[0])
    versions = deployed.app.files.versions(LOCAL, file.id)
    assert len(deployed.app.blobs.list(LOCAL, FOLDER)) == 2 * len(versions)


def test_of_two_deliveries_at_once_one_reads_the_file_and_the_other_comes_again(
    deployed: Deployed, second: Deployed, gate: Gate, threads: ThreadPoolExecutor
) -> None:
    """If the first one crashed now, the second delivery would need the object."""
    message = deployed.upload("fruit.csv", PLUMS)
    first = threads.submit(deployed.take, message)
    assert gate.reached.wait(60)
    assert second.take(message) == [message["messageId"]]
    assert arriving(deployed) == [key_of(message)]
    gate.open.set()
    assert first.result() == []
    assert second.take(message) == []
    file = deployed.file("fruit.csv")
    assert (file.newest.number, file.newest.status, arriving(deployed)) == (1, "okay", [])
    assert_whole(deployed, file)


def test_many_deliveries_of_one_event_make_one_version(
    deployed: Deployed, second: Deployed, threads: ThreadPoolExecutor
) -> None:
    message = deployed.upload("fruit.csv", PLUMS)
    instances = [deployed, second, deployed, second]
    again = [one.result() for one in [threads.submit(each.take, message) for each in instances]]
    assert [] in again
    until_taken(deployed, message)
    file = deployed.file("fruit.csv")
    assert file.newest.number == 1
    assert_whole(deployed, file)


@pytest.mark.parametrize("name", ["fruit.csv", "fruit.md"])
def test_two_uploads_of_one_name_at_once_leave_one_of_them_current_and_lose_no_passage(
    deployed: Deployed, second: Deployed, threads: ThreadPoolExecutor, name: str
) -> None:
    messages = [deployed.upload(name, one) for one in (PLUMS, PEARS)]
    for one in [threads.submit(each.take, *messages) for each in (deployed, second)]:
        one.result()
    until_taken(deployed, *messages)
    file = deployed.file(name)
    assert file.newest.number == 2
    [found] = passages(deployed)
    content = deployed.app.files.read(LOCAL, file.id).content
    assert (("plum" in found), ("pear" in found)) == (content == PLUMS, content == PEARS)
    assert_whole(deployed, file)
    assert arriving(deployed) == []


def test_a_version_that_comes_while_the_one_before_is_read_is_read_next(
    deployed: Deployed, second: Deployed, gate: Gate, threads: ThreadPoolExecutor
) -> None:
    old, new = (deployed.upload("fruit.csv", one) for one in (PLUMS, PEARS))
    first = threads.submit(deployed.take, old)
    assert gate.reached.wait(60)
    assert second.take(new) == [new["messageId"]]
    gate.open.set()
    assert first.result() == []
    until_taken(second, new, old)
    file = deployed.file("fruit.csv")
    assert file.newest.number == 2
    assert "pear" in passages(deployed)[0]
    assert_whole(deployed, file)


def test_what_is_sent_with_a_form_while_the_file_before_is_read_is_taken_in_too(
    deployed: Deployed, gate: Gate, threads: ThreadPoolExecutor
) -> None:
    uploads = deployed.app.files.parts.uploads
    assert uploads is not None
    form = uploads.begin(LOCAL, "fruit.csv", 100)
    message = deployed.message(deployed.send(form, PLUMS))
    first = threads.submit(deployed.take, message)
    assert gate.reached.wait(60)
    again = deployed.message(deployed.send(form, PEARS))
    gate.open.set()
    assert first.result() == []
    until_taken(deployed, again)
    file = deployed.file("fruit.csv")
    assert (file.newest.number, deployed.app.files.read(LOCAL, file.id).content) == (2, PEARS)
    assert_whole(deployed, file)


def told(deployed: Deployed, tool: str, *ids: str) -> list[Any]:
    """The answer of a tool about these files."""

    async def ask() -> Any:
        async with Client(build_server(deployed.app)) as client:
            return await client.call_tool(tool, {"memory_ids": [*ids]})

    answer = asyncio.run(ask())
    return structured(answer)["result"] if not answer.is_error else texts(answer)


def test_while_a_file_is_read_its_status_says_so_and_the_version_before_is_found(
    deployed: Deployed, gate: Gate, threads: ThreadPoolExecutor
) -> None:
    gate.open.set()
    assert deployed.take(deployed.upload("fruit.csv", PLUMS)) == []
    gate.open.clear()
    gate.reached.clear()
    reading = threads.submit(deployed.take, deployed.upload("fruit.csv", PEARS))
    assert gate.reached.wait(60)
    [row] = told(deployed, "ingestion_status", deployed.file("fruit.csv").id)
    assert (row["status"], row["stage"], row["version"], row["found_version"]) == ("running", "reading", 2, 1)
    assert deployed.found("plum") == ["fruit.csv"]
    gate.open.set()
    assert reading.result() == []
    [row] = told(deployed, "ingestion_status", row["id"])
    assert (row["status"], row["version"], row["found_version"]) == ("okay", 2, 2)


def test_a_file_that_is_removed_while_it_is_read_leaves_nothing(
    deployed: Deployed, gate: Gate, threads: ThreadPoolExecutor
) -> None:
    message = deployed.upload("fruit.csv", PLUMS)
    reading = threads.submit(deployed.take, message)
    assert gate.reached.wait(60)
    id = deployed.file("fruit.csv").id
    assert [one["id"] for one in told(deployed, "delete_memory", id)] == [id]
    assert "There is no file" in told(deployed, "ingestion_status", id)[0]
    gate.open.set()
    assert reading.result() == []
    assert deployed.app.blobs.list(LOCAL, FOLDER) == passages(deployed) == []
    assert (deployed.app.files.listed(LOCAL), arriving(deployed)) == ([], [])


def test_a_removal_that_a_kill_cut_off_is_ended_by_the_message_about_the_file(deployed: Deployed) -> None:
    file = deployed.app.files.add(LOCAL, "fruit.csv", PLUMS)
    lake = deployed.app.files.parts.lake
    lake.change(LOCAL, file.id, lambda one: replace(one, is_removed=True))
    assert deployed.take(*deployed.waiting()) == []
    assert deployed.app.blobs.list(LOCAL, FOLDER) == []
    assert [*lake.being_removed(LOCAL)] == []
