"""A large file on AWS is sent in parts, and an upload that was cut off goes on where it was."""

import asyncio
import hashlib
import io
import secrets
import urllib.request
import zipfile
from collections.abc import Generator
from typing import Any

import pytest
from mcp import Client
from openpyxl import Workbook

from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.mcp.server import build_server
from tests.e2e.test_files_on_aws import BUCKET, Deployed, arrived, deployment, pytestmark
from tests.surface.results import structured, texts

__all__ = ["pytestmark"]
LARGE = 64 << 20
BINARY = {"Content-Type": "application/octet-stream"}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Deployed]:
    with deployment(tmp_path_factory.mktemp("no-models"), file_mb="100") as made:
        yield made


def ask(deployed: Deployed, tool: str, **arguments: object) -> dict[str, Any]:
    async def call() -> Any:
        async with Client(build_server(deployed.app)) as client:
            return await client.call_tool(tool, arguments)

    answer = asyncio.run(call())
    assert not answer.is_error, texts(answer)
    return structured(answer)


def put(part: dict[str, Any], content: bytes) -> None:
    body = content[part["from"] : part["to"]]
    with urllib.request.urlopen(urllib.request.Request(part["url"], body, BINARY, method="PUT")) as answer:
        assert answer.status == 200


def workbook() -> bytes:
    """One with a table and a large picture."""
    book, packed = Workbook(), io.BytesIO()
    assert book.active is not None
    for row in (["fruit", "price"], ["quince", 3]):
        book.active.append(row)
    book.save(packed)
    with zipfile.ZipFile(packed, "a") as package:
        package.writestr("xl/media/image1.jpeg", secrets.token_bytes(LARGE))
    return packed.getvalue()


def test_a_large_workbook_is_sent_in_parts_and_found(deployed: Deployed) -> None:
    content = workbook()
    upload = ask(deployed, "add_memory", name="fruit.xlsx", upload_bytes=len(content))["upload"]
    parts = upload["parts"]
    assert (upload["url"], [one["number"] for one in parts]) == (None, [1, 2, 3, 4, 5])
    assert [parts[0]["from"], *(one["to"] for one in parts)] == [*range(0, LARGE + 1, 16 << 20), len(content)]
    for part in (parts[0], *parts[2:]):
        put(part, content)
    [missing] = ask(deployed, "add_memory", upload_id=upload["upload_id"])["upload"]["parts"]
    assert missing["number"] == 2
    put(missing, content)
    [row] = ask(deployed, "add_memory", upload_id=upload["upload_id"])["result"]
    assert (row["id"], row["status"]) == (upload["memory_id"], "pending")
    [held] = deployed.s3.list_objects_v2(Bucket=BUCKET, Prefix="files-in/")["Contents"]
    assert deployed.take(arrived(held["Key"])) == []
    [row] = ask(deployed, "ingestion_status", memory_ids=[upload["memory_id"]])["result"]
    assert (row["status"], row["sha256"]) == ("okay", hashlib.sha256(content).hexdigest())
    assert deployed.found("quince") == ["fruit.xlsx"]


def test_an_upload_ends_once_and_for_its_owner_only(deployed: Deployed) -> None:
    files, ann = deployed.app.files, Owner("acme", "ann")
    ticket = files.begin_upload(ann, "of ann/a$%24.bin", LARGE + 1)
    assert ticket.upload_id is not None
    with pytest.raises(NotFound, match="no such upload"):
        files.finish_upload(Owner("acme", "bob"), ticket.upload_id)
    for part in ticket.parts:
        put({"url": part.url, "from": 0, "to": part.end - part.begin}, bytes(part.end - part.begin))
    assert files.finish_upload(ann, ticket.upload_id) == "of ann/a$%24.bin"
    with pytest.raises(NotFound, match="no such upload"):
        files.finish_upload(ann, ticket.upload_id)


def test_the_largest_file_has_links_that_fit_into_an_answer(deployed: Deployed) -> None:
    uploads = deployed.app.files.parts.uploads
    assert uploads is not None
    parts = uploads.begin(Owner("acme", "ann"), "a.bin", 1 << 30).parts
    assert (len(parts), parts[-1].end) == (8, 1 << 30)
