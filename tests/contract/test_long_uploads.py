"""A long document is embedded in portions: a try that is stopped leaves what it has to the next one."""

import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.inference import LambdaEmbedder, LambdaInference
from loci.adapters.aws.uploads import S3Uploads
from loci.adapters.aws.write_locks import RecordWriteLocks
from loci.app import App
from loci.compose import build_app
from loci.core.deadline import within
from loci.core.errors import OutOfTime, Unavailable
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.core.stores import every
from loci.documents.ingest.index_writer import COLLECTION, KIND, PORTION, IndexWriter
from loci.documents.ingest.local_files import MAX_DOCUMENT_BYTES
from loci.documents.ingest.uploads import UploadIngest, upload_prefix
from loci.documents.library import Library
from tests.support.invoke_api import InvokeApi, invoke_api
from tests.support.moto_aws import BUCKET, moto_aws

pytestmark = pytest.mark.aws
MODEL = {"identity": "small@1", "dimensions": 8, "longest": 256, "scripts": ["LATIN"]}
ROW = {"model": "small@1", "vector": "ADwAAAAAAAAAAAAAAAAAAA==", "bits": "pQ=="}
KEY = upload_prefix(LOCAL) + "long.md"


@dataclass
class Clock:
    """The time of deadlines: only the model's work takes some."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class Model:
    """The inference function, which may be short of room or of speed."""

    api: InvokeApi
    answers: int = 1_000_000
    """So many portions are embedded, then no more."""
    seconds: float = 0.0
    clock: Clock = field(default_factory=Clock)
    asked: list[str] = field(default_factory=list[str])

    def handle(self, event: dict[str, Any], _: object) -> object:
        match event["ask"]:
            case "models":
                return {"answer": {"embedder": MODEL, "reranker": None}}
            case "count":
                return {"answer": [len(text) // 4 for text in event["texts"]]}
            case _:
                self.clock.now += self.seconds
                if self.answers <= 0:
                    raise MemoryError("no room")
                self.answers -= 1
                self.asked += event["texts"]
                return {"answer": [ROW for _ in event["texts"]]}


@dataclass
class Desk:
    app: App
    model: Model
    clients: Clients

    def intake(self) -> UploadIngest:
        """The ingestion as a new environment has it."""
        parts = self.app.documents.parts
        embedder = LambdaEmbedder(LambdaInference("inference", self.clients))
        writer = IndexWriter(parts.catalog, parts.index, embedder, time.time)
        records = self.app.records
        locks = RecordWriteLocks(records, time.time)
        library = Library(parts.catalog, writer, self.app.blobs, locks)
        return UploadIngest(S3Uploads(BUCKET, self.clients), library, self.app.telemetry)

    def embedded(self) -> int:
        return sum(self.app.documents.parts.index.counts(LOCAL, COLLECTION).embedded.values())

    def kept(self) -> int:
        return len(list(every(self.app.records, LOCAL, KIND)))


@pytest.fixture
def desk(tmp_path: Path) -> Generator[Desk]:
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "models", "log_level": "ERROR"}))
    with invoke_api() as api, moto_aws():
        model, clients = Model(api), Clients()
        api.functions["inference"] = model.handle
        yield Desk(app, model, clients)


def upload(desk: Desk, paragraphs: int) -> None:
    words = "The ferry of the morning leaves from pier number "
    text = "\n\n".join(f"## Part {number}\n\n{words * 8}{number}." for number in range(paragraphs))
    desk.clients.s3.put_object(Bucket=BUCKET, Key=KEY, Body=text.encode())


def test_a_try_that_fails_leaves_its_portions_to_the_next(desk: Desk) -> None:
    upload(desk, 400)
    tries = 0
    while True:
        desk.model.answers = 2
        tries += 1
        try:
            desk.intake().ingest_object(KEY)
            break
        except Unavailable:
            assert tries < 40
    assert tries == -(-len(desk.model.asked) // PORTION) // 2 + 1 - (len(desk.model.asked) % (2 * PORTION) == 0)
    assert len(desk.model.asked) == len(set(desk.model.asked)) == desk.embedded() > 3 * PORTION


def test_a_call_whose_time_is_over_goes_on_at_the_next(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loci.core.deadline.time", desk.model.clock)
    upload(desk, 600)
    desk.model.seconds = 600
    tries = 0
    while True:
        tries += 1
        try:
            with within(2_000):
                desk.intake().ingest_object(KEY)
            break
        except OutOfTime:
            assert desk.embedded() == 0  # it is written when it is whole
            assert tries < 40
    assert tries > 1
    assert len(set(desk.model.asked)) == desk.embedded()
    # The portion that a call ended in may be made twice, and no other.
    assert len(desk.model.asked) <= desk.embedded() + (tries - 1) * PORTION


def test_what_is_written_is_not_kept_twice(desk: Desk) -> None:
    upload(desk, 200)
    desk.intake().ingest_object(KEY)
    assert desk.embedded() > PORTION
    assert desk.kept() == 0


def test_a_short_document_is_embedded_as_ever(desk: Desk) -> None:
    upload(desk, 5)
    desk.model.answers = 1
    desk.intake().ingest_object(KEY)
    assert desk.embedded() == 5


def test_the_largest_document_gets_in(desk: Desk) -> None:
    paragraph = "The ferry of the morning leaves from pier number {0}, and the one of the evening from pier {1}. " * 12
    parts = (paragraph.format(number, -number) for number in range(MAX_DOCUMENT_BYTES))
    text = ""
    lines: list[str] = []
    size = 0
    for part in parts:
        size += len(part) + 2
        if size > MAX_DOCUMENT_BYTES:
            break
        lines.append(part)
    text = "\n\n".join(lines)
    desk.clients.s3.put_object(Bucket=BUCKET, Key=KEY, Body=text.encode())
    with within(290):
        desk.intake().ingest_object(KEY)
    assert desk.embedded() == len(desk.model.asked) > 5000
