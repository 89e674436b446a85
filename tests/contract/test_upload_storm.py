"""Ten thousand uploads at once, while the stores refuse most of what they are asked: every one arrives."""

import heapq
import importlib.util
import json
import os
import random
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
from botocore.awsrequest import AWSResponse

from infra.uploads import TRIES
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.upload_queue import UploadQueue
from loci.adapters.aws.uploads import S3Uploads
from loci.app import App
from loci.compose import build_app
from loci.core.errors import Unavailable
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.core.storage_keys import UPLOADS_A_CALL
from loci.documents.ingest.uploads import UploadIngest, upload_prefix
from tests.support.event_front import ROOT
from tests.support.lambda_worker import Context
from tests.support.moto_aws import BUCKET, credentials

pytestmark = pytest.mark.aws
UPLOADS = int(os.environ.get("LOCI_STORM", "1000"))
"""Ten thousand take some minutes: LOCI_STORM=10000."""
AT_ONCE = 4
SECONDS_A_CALL = 2.0
OVERLOADED = 600.0
"""Seconds in which most requests are refused; later a few still are."""
HIDDEN = 1800.0
ASIDE = "https://sqs.eu-south-2.amazonaws.com/123456789012/ingest-aside"


@dataclass
class Queue:
    """SQS and Lambda's poller, in a time of their own."""

    now: float = 0.0
    waiting: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    received: dict[str, int] = field(default_factory=dict[str, int])
    hidden_for: dict[str, float] = field(default_factory=dict[str, float])
    aside: list[str] = field(default_factory=list[str])

    def change_message_visibility(self, *, QueueUrl: str, ReceiptHandle: str, VisibilityTimeout: int) -> None:  # noqa: N803
        assert QueueUrl == ASIDE.removesuffix("-aside")
        self.hidden_for[ReceiptHandle] = VisibilityTimeout

    def send_message(self, *, MessageBody: str, **_: object) -> None:  # noqa: N803
        self.aside.append(MessageBody)

    def batch(self) -> list[str]:
        """The messages of the next call; time passes until there are some."""
        self.now = max(self.now, self.waiting[0][0])
        taken: list[str] = []
        while self.waiting and len(taken) < UPLOADS_A_CALL and self.waiting[0][0] <= self.now:
            _, key = heapq.heappop(self.waiting)
            self.received[key] = self.received.get(key, 0) + 1
            if self.received[key] > TRIES:
                self.aside.append(key)
            else:
                taken.append(key)
        return taken

    def event(self, keys: list[str]) -> dict[str, Any]:
        return {
            "Records": [
                {
                    "messageId": key,
                    "receiptHandle": key,
                    "body": json.dumps({"detail": {"bucket": {"name": BUCKET}, "object": {"key": key}}}),
                    "attributes": {"ApproximateReceiveCount": str(self.received[key])},
                    "eventSource": "aws:sqs",
                    "eventSourceARN": "arn:aws:sqs:eu-south-2:123456789012:ingest",
                }
                for key in keys
            ]
        }

    def failed(self, keys: list[str]) -> None:
        for key in keys:
            heapq.heappush(self.waiting, (self.now + self.hidden_for.pop(key, HIDDEN), key))
        self.now += SECONDS_A_CALL / AT_ONCE


@dataclass
class Storm:
    app: App
    queue: Queue
    chance: random.Random
    function: ModuleType
    refused: int = 0

    def refuses(self) -> bool:
        share = 0.6 if self.queue.now < OVERLOADED else 0.02
        refuses = self.chance.random() < share
        self.refused += refuses
        return refuses

    def s3(self, request: Any, **_: object) -> AWSResponse:
        """S3's answer, without S3: the key is the text."""
        if self.refuses():
            error = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate</Message></Error>"
            return answered(request.url, 503, {}, error)
        text = f"# {request.url.rpartition('/')[2]}\n".encode()
        content = b"" if request.method == "HEAD" else text
        headers = {"ETag": f'"{hash(text)}"', "Content-Length": str(len(text))}
        return answered(request.url, 200, headers, content)


def answered(url: str, status: int, headers: dict[str, str], content: bytes) -> AWSResponse:
    return AWSResponse(url, status, cast("Any", headers), _Raw(content))


def quiet(*_: object) -> None:
    """Log nothing."""


class _Raw:
    """The body of an answer, as botocore reads it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, **_: object) -> Generator[bytes]:
        yield self._content

    def read(self, _: int | None = None) -> bytes:
        content, self._content = self._content, b""
        return content

    def close(self) -> None: ...

    def __enter__(self) -> "_Raw":
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def storm(tmp_path: Path) -> Generator[Storm]:
    """The real handler, on the stores of this machine; S3 and the index refuse what they like."""
    with pytest.MonkeyPatch.context() as patch:
        credentials(patch)
        for name, value in {"MODE": "aws", "AUTH": "required", "TABLE": "t", "BUCKET": BUCKET}.items():
            patch.setenv(f"LOCI_{name}", value)
        patch.setenv("AWS_MAX_ATTEMPTS", "1")  # boto3 would wait between its own attempts
        spec = importlib.util.spec_from_file_location("storm_handler", ROOT / "functions" / "ingest" / "handler.py")
        assert spec is not None
        assert spec.loader is not None
        function = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(function)
        for name in ("MODE", "AUTH", "TABLE", "BUCKET"):
            patch.delenv(f"LOCI_{name}")
        told = {"data": tmp_path / "data", "models": tmp_path / "models", "log_level": "ERROR"}
        app, clients = build_app(load_settings(told)), Clients()
        made = Storm(app, Queue(), random.Random(7), function)
        clients.__dict__["sqs"] = made.queue
        clients.s3.meta.events.register("before-send.s3", cast("Any", made.s3))
        index = type(app.documents.parts.index)
        put = index.put

        def throttled(*given: Any, **named: Any) -> None:
            if made.refuses():
                raise Unavailable("OpenSearch did not serve the index (429)", "Try again")
            put(*given, **named)

        patch.setattr(index, "put", throttled)
        intake = UploadIngest(S3Uploads(BUCKET, clients), app.documents.parts.library, app.telemetry)
        patch.setattr(function, "uploads", UploadQueue(intake, clients, None, ASIDE, 1))
        patch.setattr(app.telemetry, "upload_failed", quiet)
        yield made
        app.close()


def test_of_ten_thousand_uploads_at_once_every_one_arrives(storm: Storm) -> None:
    queue = storm.queue
    keys = [f"{upload_prefix(LOCAL)}n{number % 100}/{number}.md" for number in range(UPLOADS)]
    queue.waiting = [(0.0, key) for key in keys]
    while queue.waiting:
        taken = queue.batch()
        answer = storm.function.lambda_handler(queue.event(taken), Context("ingest", time.monotonic() + 300))
        queue.failed([one["itemIdentifier"] for one in answer["batchItemFailures"]])
    assert queue.aside == []
    paths = {one.path for one in storm.app.documents.parts.library.documents(LOCAL)}
    assert paths == {key.removeprefix(upload_prefix(LOCAL)) for key in keys}
    assert max(queue.received.values()) <= TRIES
    assert storm.refused > UPLOADS / 4
