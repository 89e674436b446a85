"""The ingestion function: messages of a queue in, those that failed out."""

import importlib.util
import json
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import boto3
import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.documents.ingest.index_writer import COLLECTION
from loci.documents.ingest.local_files import MAX_DOCUMENT_BYTES
from tests.support.each import each
from tests.support.event_front import ROOT
from tests.support.lambda_worker import Context
from tests.support.moto_aws import BUCKET, TABLE, VECTORS, moto_aws

HANDLER = ROOT / "functions" / "ingest" / "handler.py"
Handler = Callable[[dict[str, Any], object], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Ingestion:
    """The function, and the queues on both sides of it."""

    handler: Handler
    sqs: Any
    s3: Any
    queue: str
    aside: str

    def send(self, body: str) -> str:
        """The id of the message that the queue has now."""
        return self.sqs.send_message(QueueUrl=self.queue, MessageBody=body)["MessageId"]

    def receive(self) -> dict[str, Any]:
        """The event of the messages that wait."""
        wanted = {"QueueUrl": self.queue, "MaxNumberOfMessages": 10, "AttributeNames": ["All"]}
        found = self.sqs.receive_message(**wanted).get("Messages", [])
        arn = self.sqs.get_queue_attributes(QueueUrl=self.queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        return {
            "Records": [
                {
                    "messageId": one["MessageId"],
                    "receiptHandle": one["ReceiptHandle"],
                    "body": one["Body"],
                    "attributes": one["Attributes"],
                    "eventSource": "aws:sqs",
                    "eventSourceARN": arn,
                }
                for one in found
            ]
        }

    def put_aside(self) -> dict[str, str]:
        """The messages that were put aside, each with its reason."""
        wanted = {"QueueUrl": self.aside, "MaxNumberOfMessages": 10, "MessageAttributeNames": ["All"]}
        found = self.sqs.receive_message(**wanted).get("Messages", [])
        return {one["Body"]: one["MessageAttributes"]["reason"]["StringValue"] for one in found}


@pytest.fixture
def ingestion(tmp_path: Path) -> Generator[Ingestion]:
    """As Lambda starts it, in a deployment without an index."""
    with started(tmp_path) as ingestion:
        yield ingestion


@contextmanager
def started(models: Path, **more: str) -> Generator[Ingestion]:
    with pytest.MonkeyPatch.context() as environment, moto_aws():
        client: Any = cast("Any", boto3).client
        sqs: Any = client("sqs")
        s3: Any = client("s3")
        queue: str = sqs.create_queue(QueueName="ingest")["QueueUrl"]
        aside: str = sqs.create_queue(QueueName="ingest-aside")["QueueUrl"]
        settings = {"MODE": "aws", "AUTH": "required", "TABLE": TABLE, "BUCKET": BUCKET, "MODELS": str(models)}
        for name, value in {**settings, "INGEST_QUEUE": queue, "ASIDE_QUEUE": aside, **more}.items():
            environment.setenv(f"LOCI_{name}", value)
        spec = importlib.util.spec_from_file_location("ingest_handler", HANDLER)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield Ingestion(module.lambda_handler, sqs, s3, queue, aside)


def message(id: str, body: object) -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body)
    return {
        "messageId": id,
        "receiptHandle": "of no message",
        "body": text,
        "attributes": {"ApproximateReceiveCount": "1"},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-south-2:123456789012:ingest",
    }


def notice(key: str) -> dict[str, Any]:
    """What EventBridge tells of an object, when it comes the second time."""
    return {"detail": {"bucket": {"name": BUCKET}, "object": {"key": key}}, "group": "of its owner"}


def failures(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    """The id and the code in each line of the log about a message that failed."""
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if "upload failed" in line]
    return [(line["message_id"], line["code"]) for line in lines]


def test_the_handler_is_a_door_of_a_few_lines() -> None:
    assert len(HANDLER.read_text("utf-8").splitlines()) <= 40


def test_only_the_messages_that_may_work_later_come_again(
    ingestion: Ingestion, capsys: pytest.CaptureFixture[str]
) -> None:
    ingestion.s3.put_object(Bucket=BUCKET, Key="uploads/-/local/note.md", Body=b"# A note\n")
    records = [
        message("picture", notice("uploads/-/local/picture.png")),
        message("gone", notice("uploads/-/local/gone.md")),
        message("no notice", "?"),
        message("without an index", notice("uploads/-/local/note.md")),
    ]
    answer = ingestion.handler({"Records": records}, None)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "without an index"}]}
    assert failures(capsys) == [("no notice", "BAD_NOTICE"), ("without an index", "INDEX_UNAVAILABLE")]


@each(
    ("key", "content", "code"),
    [
        ("uploads/-/local/large.md", b"x" * (MAX_DOCUMENT_BYTES + 1), "FILE_TOO_LARGE"),
        ("uploads/nobody.md", b"# A\n", "BAD_UPLOAD_KEY"),
        ("uploads/-/local/a//b.md", b"# A\n", "BAD_PATH"),
    ],
)
def test_what_can_never_be_ingested_goes_aside_at_once_with_its_reason(
    ingestion: Ingestion, capsys: pytest.CaptureFixture[str], key: str, content: bytes, code: str
) -> None:
    ingestion.s3.put_object(Bucket=BUCKET, Key=key, Body=content)
    id = ingestion.send(json.dumps(notice(key)))
    assert ingestion.handler(ingestion.receive(), None) == {"batchItemFailures": []}
    [(put_aside, reason)] = ingestion.put_aside().items()
    assert put_aside == json.dumps(notice(key))
    assert reason.startswith(f"{code}: ")
    assert failures(capsys) == [(id, code)]


def test_what_is_no_notice_goes_aside_at_once(ingestion: Ingestion) -> None:
    ingestion.send("?")
    assert ingestion.handler(ingestion.receive(), None) == {"batchItemFailures": []}
    assert ingestion.put_aside()["?"].startswith("BAD_NOTICE")


def test_what_is_overloaded_comes_again_later_and_later(ingestion: Ingestion, monkeypatch: pytest.MonkeyPatch) -> None:
    ingestion.s3.put_object(Bucket=BUCKET, Key="uploads/-/local/note.md", Body=b"# A note\n")
    pauses: list[int] = []

    def at_once(params: dict[str, Any], **_: object) -> None:
        body = json.loads(params["body"])
        pauses.append(body["VisibilityTimeout"])
        params["body"] = json.dumps({**body, "VisibilityTimeout": 0}).encode()

    queue = _uploads(ingestion)
    queue._clients.sqs.meta.events.register("before-call.sqs.ChangeMessageVisibility", at_once)
    monkeypatch.setattr("random.uniform", middle)
    id = ingestion.send(json.dumps(notice("uploads/-/local/note.md")))
    for _ in range(10):
        answer = ingestion.handler(ingestion.receive(), None)
        assert answer == {"batchItemFailures": [{"itemIdentifier": id}]}
    assert pauses == [30, 60, 120, 240, 480, 600, 600, 600, 600, 600]
    assert 3000 <= sum(pauses[:9]) <= 3600  # the queue itself puts aside what has failed ten times
    assert ingestion.put_aside() == {}


def middle(low: float, high: float) -> float:
    return (low + high) / 2


def _uploads(ingestion: Ingestion) -> Any:
    return ingestion.handler.__globals__["uploads"]


def test_if_the_time_is_nearly_over_the_rest_is_left_to_the_next_call(ingestion: Ingestion) -> None:
    for _ in range(3):
        ingestion.send("?")
    event = ingestion.receive()
    failed = ingestion.handler(event, Context("ingest", time.monotonic() + 14))["batchItemFailures"]
    assert {one["itemIdentifier"] for one in failed} == {one["messageId"] for one in event["Records"]}
    assert len(ingestion.receive()["Records"]) == 3  # at once: they have not failed


def test_a_key_is_in_no_log_unless_somebody_wants_to_see_them(
    ingestion: Ingestion, capsys: pytest.CaptureFixture[str]
) -> None:
    ingestion.handler({"Records": [message("1", notice("uploads/-/local/gone.md"))]}, None)
    assert "gone.md" not in capsys.readouterr().err


def test_uploads_of_one_call_come_to_the_index_in_s3_vectors(tmp_path: Path) -> None:
    with started(tmp_path, SEARCH="vectors", VECTOR_BUCKET=VECTORS) as ingestion:
        for number in range(5):
            key = f"uploads/-/local/notes/{number}.md"
            ingestion.s3.put_object(Bucket=BUCKET, Key=key, Body=f"# About {key}\n\nGeese fly.\n".encode())
            ingestion.send(json.dumps(notice(key)))
        assert ingestion.handler(ingestion.receive(), None) == {"batchItemFailures": []}
        app = build_app(load_settings({"secrets": ("s" * 40,)}))
        assert len(app.documents.parts.index.documents(LOCAL, COLLECTION)) == 5


def test_a_notice_is_taken_in_its_owners_group_once_even_after_a_crash_before_it_was_deleted(tmp_path: Path) -> None:
    ann = Owner("acme", "ann")
    with started(tmp_path, SEARCH="vectors", VECTOR_BUCKET=VECTORS) as ingestion:
        key = "uploads/acme/ann/note.md"
        ingestion.s3.put_object(Bucket=BUCKET, Key=key, Body=b"# A note\n\nGeese fly.\n")
        ingestion.send(json.dumps({"detail": notice(key)["detail"]}))
        app = build_app(load_settings({"secrets": ("s" * 40,)}))
        groups: list[list[str]] = []
        indexed: list[int] = []
        while records := (event := ingestion.receive())["Records"]:
            groups.append(sorted(one["attributes"].get("MessageGroupId", "") for one in records))
            assert ingestion.handler(event, None) == {"batchItemFailures": []}
            indexed.append(len(app.documents.parts.index.documents(ann, COLLECTION)))
            for one in records:
                message = {"QueueUrl": ingestion.queue, "ReceiptHandle": one["receiptHandle"]}
                if len(groups) == 1:  # the function dies here
                    ingestion.sqs.change_message_visibility(**message, VisibilityTimeout=0)
                else:
                    ingestion.sqs.delete_message(**message)
        assert groups == [[""], ["", ann.key], [ann.key]]
        assert indexed == [0, 1, 1]
