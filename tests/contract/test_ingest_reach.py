"""The ingestion touches only the records and objects that its role allows."""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.adapters.aws.uploads import S3Uploads
from loci.adapters.aws.write_locks import RecordWriteLocks
from loci.compose import build_app
from loci.core.errors import Refused
from loci.core.settings import load_settings
from loci.core.storage_keys import INGEST_BLOBS, INGEST_KINDS
from loci.documents.catalog import Catalog
from loci.documents.history import History, PastWrite, hash_of
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.ingest.local_files import blob_key
from loci.documents.ingest.uploads import UploadIngest, upload_prefix
from loci.documents.library import Library
from tests.contract.stores import ANN
from tests.support.moto_aws import BUCKET, TABLE, moto_aws

pytestmark = pytest.mark.aws
KEY = upload_prefix(ANN) + "notes/a.md"
MANY_LINKS = "# Many\n\n" + "".join(f"See [[{'note' * 50} {number}]].\n" for number in range(1999))
"""They do not fit into an item of the table, so they lie in a blob."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The ingestion on the stores of AWS, and what it asks of them."""

    clients: Clients
    intake: UploadIngest
    library: Library
    partitions: set[str]
    objects: set[tuple[str, str]]
    """Operation and key."""

    def put(self, text: str) -> None:
        """Upload it, and have it ingested."""
        Clients().s3.put_object(Bucket=BUCKET, Key=KEY, Body=text.encode())
        self.intake.ingest_object(KEY)


@pytest.fixture
def watched(tmp_path: Path) -> Generator[Watched]:
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "models"}))
    with moto_aws():
        clients, partitions, objects = Clients(), set[str](), set[tuple[str, str]]()
        clients.dynamodb.meta.events.register("provide-client-params.dynamodb", _noting_partition(partitions))
        clients.s3.meta.events.register("provide-client-params.s3", _noting_object(objects))
        blobs = S3Blobs(BUCKET, clients)
        records = DynamoRecords(TABLE, blobs, time.time, clients)
        parts, catalog = app.documents.parts, Catalog(records)
        writer = IndexWriter(catalog, parts.index, parts.embedder, time.time)
        library = Library(catalog, writer, blobs, RecordWriteLocks(records, time.time))
        intake = UploadIngest(S3Uploads(BUCKET, clients), library, app.telemetry)
        yield Watched(clients, intake, library, partitions, objects)


def _noting_partition(found: set[str]) -> Callable[..., None]:
    def note(params: dict[str, Any], **_: object) -> None:
        wrapped = [one for some in params.get("RequestItems", {}).values() for each in some for one in each.values()]
        for one in wrapped or [params]:
            values = one.get("Key") or one.get("Item") or {"pk": one["ExpressionAttributeValues"][":pk"]}
            found.add(values["pk"]["S"])

    return note


def _noting_object(found: set[tuple[str, str]]) -> Callable[..., None]:
    def note(params: dict[str, Any], model: Any, **_: object) -> None:
        found.add((model.name, params.get("Key") or params.get("Prefix", "")))

    return note


def test_the_ingestion_reaches_no_more_than_its_role(watched: Watched) -> None:
    watched.put("# Small\n\nIt [[links]] somewhere.\n")
    watched.put(MANY_LINKS)
    [document] = watched.library.documents(ANN)
    S3Blobs(BUCKET).write(ANN, blob_key(document.id), b"of one that was killed")
    watched.put("# Small again\n")
    by_a_tool = PastWrite(None, hash_of(b"# Small again\n") or "", "2026-11-22T00:00:00Z", "write_document")
    History(S3Blobs(BUCKET)).keep(ANN, "notes/a.md", by_a_tool)
    watched.put("# Over the text of a tool\n")
    with pytest.raises(Refused):
        watched.put("%PDF-1.7\n")
    Clients().s3.delete_object(Bucket=BUCKET, Key=KEY)
    watched.intake.ingest_object(KEY)
    assert {one.partition("#")[2] for one in watched.partitions} <= set(INGEST_KINDS)
    assert any(one.endswith("#refused") for one in watched.partitions)
    below = tuple(f"{ANN.key}/{prefix}" for prefix in INGEST_BLOBS)
    others = {(name, key) for name, key in watched.objects if not key.startswith(below)}
    assert others <= {("GetObject", KEY), ("HeadObject", KEY)}
    for prefix in ("documents/", "history/", "records/said/"):
        assert any(name == "PutObject" and key.startswith(f"{ANN.key}/{prefix}") for name, key in watched.objects)
