"""Files on AWS, from the tool or the form to the passage: the gateway, the queue, the ingestion and its reader."""

import base64
import io
import json
import secrets
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import boto3
import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.errors import NotFound, Refused
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.core.storage_keys import INGEST_BLOBS, INGEST_KINDS
from loci.documents.ingest.uploads import upload_prefix
from loci.files.file import StoredFile
from loci.files.finder import FileScope
from loci.files.ports import UploadTicket
from loci.files.search_query import parsed
from loci.mcp.http.application import asgi
from loci.sandbox.wall.layers import UNPRIVILEGED
from tests.attack.doors import lambda_doors
from tests.contract.file_readers import FUNCTION
from tests.support.deno import STRONGEST
from tests.support.each import each
from tests.support.event_follower import following
from tests.support.executors import runner_packages
from tests.support.functions import loaded
from tests.support.invoke_api import InvokeApi, invoke_api
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import BUCKET, EXECUTORS, SECRET, TABLE, VECTORS

pytestmark = pytest.mark.skipif(
    not STRONGEST >= UNPRIVILEGED,
    reason="this machine has no wall to put around parsers: `loci doctor` says what is missing",
)
HIDDEN = {"VisibilityTimeout": "43200"}
"""No message of one test comes again in a later one, however long these take."""
PRICES = b"fruit,price\nquince,3\nmedlar,4\n"
ANN, TOLD = Owner("acme & co", "ann/1"), Owner("acme", "told")


@dataclass
class Deployed:
    """A deployment in this process."""

    app: App
    api: InvokeApi
    ingest: Any
    sqs: Any
    s3: Any
    queue: str
    aside: str
    touched: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """The requests of the ingestion for objects: operation, and bucket with key."""
    partitions: set[str] = field(default_factory=set[str])

    def waiting(self) -> list[dict[str, Any]]:
        """The messages in the queue, as the ingestion gets them."""
        found = self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10, AttributeNames=["All"])
        return [
            {
                "messageId": one["MessageId"],
                "receiptHandle": one["ReceiptHandle"],
                "body": one["Body"],
                "attributes": one["Attributes"],
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:eu-south-2:123456789012:ingest",
            }
            for one in found.get("Messages", [])
        ]

    def take(self, *messages: dict[str, Any]) -> list[str]:
        """Have the ingestion take these messages; return the ids of those that must come again."""
        answer = self.ingest({"Records": [*messages]}, None)
        return [one["itemIdentifier"] for one in answer["batchItemFailures"]]

    def send(self, ticket: UploadTicket, content: bytes) -> str:
        """Send the bytes with the form, and return the key of the object."""
        assert ticket.url is not None
        boundary = secrets.token_hex(8)
        body = io.BytesIO()
        for name, value in ticket.fields.items():
            body.write(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode())
        body.write(f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'.encode())
        body.write(content + f"\r\n--{boundary}--\r\n".encode())
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        with urllib.request.urlopen(urllib.request.Request(ticket.url, body.getvalue(), headers)):
            return ticket.fields["key"]

    def upload(self, name: str, content: bytes, owner: Owner = LOCAL) -> dict[str, Any]:
        """Send a file as the owner of a form does, and return the message about it."""
        uploads = self.app.files.parts.uploads
        assert uploads is not None
        return self.message(self.send(uploads.begin(owner, name, len(content)), content))

    def message(self, key: str) -> dict[str, Any]:
        """The message about an object that was sent."""
        return arrived(key)

    def file(self, name: str, owner: Owner = LOCAL) -> StoredFile:
        [found] = [one for one in self.app.files.listed(owner) if one.full_path == name]
        return found

    def found(self, words: str, owner: Owner = LOCAL) -> list[str]:
        """The paths of the files that a search finds."""
        answer = self.app.files.search(owner, parsed(rewritten=words), limit=9, scope=FileScope())
        return [one.file.full_path for one in answer.files]


def arrived(key: str, what: str = "Object Created") -> dict[str, Any]:
    """A message of EventBridge about an object, as it comes the second time: in its owner's group."""
    detail = {"bucket": {"name": BUCKET}, "object": {"key": key}}
    event = {"source": "aws.s3", "detail-type": what, "detail": detail, "group": "of its owner"}
    return {
        "messageId": secrets.token_hex(4),
        "receiptHandle": "of no message",
        "body": json.dumps(event),
        "attributes": {"ApproximateReceiveCount": "1"},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-south-2:123456789012:ingest",
    }


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Deployed]:
    with deployment(tmp_path_factory.mktemp("no-models")) as made:
        yield made


@contextmanager
def deployment(models: Path, **more: str) -> Generator[Deployed]:
    """The gateway, the ingestion and its reader, with the models in this folder and these settings."""
    with pytest.MonkeyPatch.context() as environment, invoke_api() as api, loopback_aws():
        client: Any = cast("Any", boto3).client
        sqs = client("sqs")
        queue: str = sqs.create_queue(QueueName="ingest", Attributes=HIDDEN)["QueueUrl"]
        aside: str = sqs.create_queue(QueueName="ingest-aside")["QueueUrl"]
        settings = {
            "mode": "aws",
            "auth": "required",
            "table": TABLE,
            "bucket": BUCKET,
            "search": "vectors",
            "vector_bucket": VECTORS,
            "models": str(models),
            "ingest_queue": queue,
            "extract_function": FUNCTION,
            "file_mb": "1",
            **more,
        }
        app = build_app(load_settings({**settings, "secrets_from": SECRET}))
        environment.setenv("LOCI_RUNNER", str(runner_packages()))
        reader = loaded(Path("extract"))
        api.functions[FUNCTION] = reader.lambda_handler
        for name, value in {**settings, "aside_queue": aside, "executor_bucket": EXECUTORS}.items():
            environment.setenv(f"LOCI_{name.upper()}", value)
        ingest = loaded(Path("ingest"))
        made = Deployed(app, api, ingest.lambda_handler, sqs, client("s3"), queue, aside)
        _watch(ingest.uploads._clients, made)
        try:
            yield made
        finally:
            reader.runs.close()
            if writer := ingest.uploads._files._summaries._model:
                writer.close()


def _watch(clients: Any, made: Deployed) -> None:
    def object_of(params: dict[str, Any], model: Any, **_: object) -> None:
        if model.name != "CreateBucket":  # botocore only asks itself, for a form, where the bucket is
            made.touched.add((model.name, f"{params['Bucket']}/{params.get('Key') or params.get('Prefix', '')}"))

    def partition_of(params: dict[str, Any], **_: object) -> None:
        made.partitions.update(one["pk"]["S"] for one in _keys_in(params))

    clients.s3.meta.events.register("provide-client-params.s3", object_of)
    clients.dynamodb.meta.events.register("provide-client-params.dynamodb", partition_of)


def _keys_in(params: dict[str, Any]) -> list[dict[str, Any]]:
    """The keys and items of a request to DynamoDB, also of one for many."""
    if tables := params.get("RequestItems"):
        [asked] = tables.values()
        if "Keys" in asked:
            return asked["Keys"]
        return [values for one in asked for part in one.values() for values in part.values()]
    return [params.get("Key") or params.get("Item") or {"pk": params["ExpressionAttributeValues"][":pk"]}]


def test_a_text_is_found_at_once_and_needs_no_other_process(deployed: Deployed) -> None:
    added = deployed.app.files.add(LOCAL, "trip.md", b"The ferry to Anholt costs 40 euros.\n")
    assert added.newest.status == "okay"
    assert deployed.found("ferry to Anholt") == ["trip.md"]
    assert deployed.waiting() == []


def test_a_table_that_a_tool_adds_is_read_by_the_ingestion(deployed: Deployed) -> None:
    added = deployed.app.files.add(LOCAL, "prices.csv", PRICES)
    assert added.newest.status == "pending"
    [message] = deployed.waiting()
    assert deployed.take(message) == []
    assert deployed.file("prices.csv").newest.status == "okay"
    assert deployed.found("quince") == ["prices.csv"]


def test_a_file_that_is_added_again_while_it_waits_is_sent_again(deployed: Deployed) -> None:
    """The first message may be lost in a crash between the record and the queue."""
    for _ in range(2):
        deployed.app.files.add(LOCAL, "twice.csv", b"a,b\n1,2\n")
    messages = deployed.waiting()
    assert len(messages) == 2
    assert deployed.take(*messages) == []
    assert deployed.file("twice.csv").newest.number == 1


@each(
    "name",
    [
        "sent.csv",
        "mit Umlaut ä & 100%+.csv",
        ".hidden.csv",
        "~a.csv",
        "50%24.csv",
        "${filename}.csv",
        "a/b c/d%2Fe.csv",
    ],
)
def test_what_is_sent_with_a_form_is_found_and_the_object_is_gone(deployed: Deployed, name: str) -> None:
    message = deployed.upload(name, PRICES, ANN)
    assert deployed.take(message) == []
    file = deployed.file(name, ANN)
    assert (file.newest.status, file.newest.bytes) == ("okay", len(PRICES))
    assert name in deployed.found("medlar", ANN)
    assert deployed.app.files.read(ANN, file.id).content == PRICES
    assert "Contents" not in deployed.s3.list_objects_v2(Bucket=BUCKET, Prefix="files-in/")


def test_a_text_that_is_sent_needs_no_parser(deployed: Deployed) -> None:
    deployed.api.events.clear()
    assert deployed.take(deployed.upload("sent.md", b"# Notes\nThe heron waits.\n")) == []
    assert deployed.found("heron") == ["sent.md"]
    assert deployed.api.events == []


def test_the_ingestion_tells_of_documents_and_files(deployed: Deployed) -> None:
    key = f"{upload_prefix(TOLD)}note.md"
    deployed.s3.put_object(Bucket=BUCKET, Key=key, Body=b"# A secret word\n")
    assert deployed.take(arrived(key), deployed.upload("told.csv", PRICES, TOLD)) == []
    secret = deployed.app.api_keys.create(TOLD, "told")[1]
    headers = (("Host", "loci.test"), ("Authorization", f"Bearer {secret}"))
    query = "?kinds=ingestion&last=10"
    with lambda_doors(asgi(deployed.app)) as (door, _), following(door, headers, query) as follower:
        follower.wait(lambda one: len(one.of("ingestion")) == 3)
    told = {(one["name"], one["state"]): one for one in follower.of("ingestion")}
    assert told.keys() == {("note.md", "done"), ("told.csv", "began"), ("told.csv", "done")}
    assert told["told.csv", "done"]["version"] == 1
    assert "secret word" not in "".join(follower.raw)


def test_an_event_that_comes_twice_or_late_changes_nothing(deployed: Deployed) -> None:
    message = deployed.upload("again.csv", PRICES)
    assert deployed.take(message, message) == []
    before = deployed.file("again.csv")
    assert (
        deployed.take(message, arrived(json.loads(message["body"])["detail"]["object"]["key"], "Object Deleted")) == []
    )
    assert deployed.file("again.csv") == before
    assert before.newest.number == 1


def test_the_same_content_under_the_same_name_is_no_new_version(deployed: Deployed) -> None:
    for _ in range(2):
        assert deployed.take(deployed.upload("same.csv", PRICES)) == []
    assert deployed.file("same.csv").newest.number == 1
    assert deployed.take(deployed.upload("same.csv", b"fruit,price\nsloe,5\n")) == []
    assert (deployed.file("same.csv").newest.number, deployed.found("sloe")) == (2, ["same.csv"])


def test_a_file_that_cannot_be_read_says_why_and_is_not_tried_again(deployed: Deployed) -> None:
    assert deployed.take(deployed.upload("photo.xlsx", b"GIF89a\0")) == []
    newest = deployed.file("photo.xlsx").newest
    assert newest.status == "error"
    assert "no type that can be read" in str(newest.reason)
    assert "Messages" not in deployed.sqs.receive_message(QueueUrl=deployed.aside)


def test_if_the_reader_has_no_room_the_file_waits_and_says_why(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loci.adapters.aws.clients.ROOM_SECONDS", 0.1)
    message = deployed.upload("waits.csv", b"fruit\nbullace\n")
    deployed.api.throttled.add(FUNCTION)
    try:
        assert deployed.take(message) == [message["messageId"]]
    finally:
        deployed.api.throttled.remove(FUNCTION)
    newest = deployed.file("waits.csv").newest
    assert (newest.status, "TooManyRequests" in str(newest.reason)) == ("pending", True)
    assert deployed.take(message) == []
    assert deployed.found("bullace") == ["waits.csv"]


def test_what_names_no_owner_is_put_aside(deployed: Deployed) -> None:
    deployed.s3.put_object(Bucket=BUCKET, Key="files-in/nobody.csv", Body=PRICES)
    assert deployed.take(arrived("files-in/nobody.csv")) == []
    [message] = deployed.sqs.receive_message(QueueUrl=deployed.aside, MessageAttributeNames=["All"])["Messages"]
    assert message["MessageAttributes"]["reason"]["StringValue"].startswith("BAD_UPLOAD_KEY")


def test_a_job_for_a_file_that_was_removed_is_done(deployed: Deployed) -> None:
    file = deployed.app.files.add(LOCAL, "short.csv", b"a\n1\n")
    [message] = deployed.waiting()
    deployed.app.files.remove(LOCAL, [file.id])
    assert deployed.take(message) == []
    with pytest.raises(NotFound):
        deployed.app.files.status(LOCAL, [file.id])


def test_a_form_is_for_one_file_of_its_owner(deployed: Deployed) -> None:
    uploads = deployed.app.files.parts.uploads
    assert uploads is not None
    ticket = uploads.begin(ANN, "one.csv", 10)
    assert ticket.fields["key"].startswith("files-in/acme%20%26%20co/ann%2F1/")
    assert ticket.fields["key"] != uploads.begin(ANN, "one.csv", 10).fields["key"]
    policy = json.loads(base64.b64decode(ticket.fields["policy"]))
    assert ["content-length-range", 1, 10] in policy["conditions"]
    assert {"key": ticket.fields["key"]} in policy["conditions"]


@each("name", ["${filename}", "a${filename}", "${filename}.csv"])
def test_s3_puts_no_other_name_into_the_key_of_a_form(deployed: Deployed, name: str) -> None:
    uploads = deployed.app.files.parts.uploads
    assert uploads is not None
    ticket = uploads.begin(ANN, name, 10)
    assert (ticket.name, "$" in ticket.fields["key"]) == (name, False)
    conditions = json.loads(base64.b64decode(ticket.fields["policy"]))["conditions"]
    assert [one for one in conditions if "key" in one or "$key" in one] == [{"key": ticket.fields["key"]}]


def test_a_form_for_more_than_the_reader_has_room_for_is_refused(deployed: Deployed) -> None:
    uploads = deployed.app.files.parts.uploads
    assert uploads is not None
    with pytest.raises(Refused):
        uploads.begin(ANN, "huge.csv", (1 << 30) + 1)


def test_the_ingestion_touches_nothing_that_its_role_may_not(deployed: Deployed) -> None:
    """All tests above, together: emulators enforce no roles."""
    assert deployed.take(deployed.upload("last.csv", PRICES, ANN)) == []
    assert {one.partition("#")[2] for one in deployed.partitions} <= set(INGEST_KINDS)
    below = tuple(f"{BUCKET}/{owner.key}/{prefix}" for owner in (ANN, LOCAL, TOLD) for prefix in INGEST_BLOBS)
    arriving = {(one, key) for one, key in deployed.touched if key.startswith(f"{BUCKET}/files-in/")}
    reading = {(one, key) for one, key in deployed.touched if key.startswith(f"{EXECUTORS}/")}
    sent = {(one, key) for one, key in deployed.touched if key.startswith(f"{BUCKET}/{upload_prefix(TOLD)}")}
    assert {one for one, _ in arriving} <= {"GetObject", "HeadObject", "DeleteObject"}
    assert {one for one, _ in sent} == {"GetObject", "HeadObject"}
    reads = tuple(f"{EXECUTORS}/{one.key}/reads/" for one in (ANN, LOCAL, TOLD))
    assert [key for _, key in reading if not key.startswith(reads)] == []
    rest = deployed.touched - arriving - reading - sent
    assert [key for _, key in rest if not key.startswith(below)] == []
