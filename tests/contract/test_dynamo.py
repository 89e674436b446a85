"""What only the AWS stores promise: nothing is loaded early, no answer that got lost lies, nothing large is left."""

import base64
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords, items_of, key_of
from loci.core.errors import Conflict, Unavailable
from loci.core.identity import Owner
from loci.core.stores import ABSENT, BlobStore, RecordStore
from loci.sandbox.lambda_host.saved_state import write_object
from tests.contract.stores import ANN, Clock, Opener, Stores, moto
from tests.contract.test_records import text
from tests.support.each import each
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import BUCKET, EXECUTORS, REGION, TABLE, credentials

pytestmark = pytest.mark.aws
LARGE = text(500_000)


@pytest.fixture(scope="module")
def adapter() -> Iterator[Opener]:
    with moto() as opener:
        yield opener


class Hooked(S3Blobs):
    """The blobs of the bucket, with something that happens first at the next call of one kind."""

    def __init__(self) -> None:
        super().__init__(BUCKET)
        self.before: dict[str, Callable[[], object]] = {}

    def read(self, owner: Owner, key: str) -> bytes:
        self._first("read")
        return super().read(owner, key)

    def remove(self, owner: Owner, key: str) -> None:
        self._first("remove")
        super().remove(owner, key)

    def _first(self, call: str) -> None:
        self.before.pop(call, lambda: None)()


def unreachable() -> None:
    raise Unavailable("S3 cannot be reached", "Try again")


def item(key: str) -> dict[str, Any]:
    client = boto3.Session().client("dynamodb")  # pyright: ignore[reportUnknownMemberType]
    answer = client.get_item(TableName=TABLE, Key={"pk": {"S": f"{ANN.key}#note"}, "sk": {"S": key}})
    return dict(answer.get("Item", {}))


def send_again_once(clients: Clients) -> None:
    """Make boto3 do what it does where DynamoDB has written but its answer got lost: send the write once more."""
    delays = [0.0]

    def delay(**_: object) -> Any:
        return delays.pop() if delays else None

    clients.dynamodb.meta.events.register_first("needs-retry.dynamodb.PutItem", delay)


def test_nothing_of_aws_is_loaded_before_the_first_call() -> None:
    program = (
        "import sys, time\n"
        "from loci.adapters.aws.blobs import S3Blobs\n"
        "from loci.adapters.aws.records import DynamoRecords\n"
        "DynamoRecords('t', S3Blobs('b'), time.time); print([name for name in sys.modules if name.startswith('boto')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_dynamodb_is_told_the_whole_second_after_which_a_record_may_go(records: RecordStore, clock: Clock) -> None:
    records.put(ANN, "note", "a", {}, expires_at=clock.now + 1.5)
    assert item("a")["expires"] == {"N": str(math.ceil(clock.now + 1.5))}


def test_a_small_value_needs_no_blob_and_a_large_one_one(stores: Stores) -> None:
    stores.records.put(ANN, "note", "small", text(340_000))
    assert stores.blobs.list(ANN) == []
    stores.records.put(ANN, "note", "large", LARGE)
    assert len(stores.blobs.list(ANN)) == 1
    assert "value" not in item("large")


@each("size", [10, 500_000])
@each("expected", [None, ABSENT])
def test_a_write_whose_answer_got_lost_is_no_conflict_with_itself(
    stores: Stores, clock: Clock, size: int, expected: str | None
) -> None:
    clients = Clients()
    records = DynamoRecords(TABLE, stores.blobs, clock, clients)
    send_again_once(clients)
    written = records.put(ANN, "note", "a", text(size), expect_version=expected)
    assert records.get(ANN, "note", "a") == written
    records.remove(ANN, "note", "a")
    assert stores.blobs.list(ANN) == []


def test_a_value_replaced_while_it_is_read_is_read_again(stores: Stores, clock: Clock) -> None:
    blobs = Hooked()
    records = DynamoRecords(TABLE, blobs, clock)
    records.put(ANN, "note", "a", LARGE)
    blobs.before["read"] = lambda: stores.records.put(ANN, "note", "a", {"new": True})
    read = records.get(ANN, "note", "a")
    assert read is not None
    assert read.value == {"new": True}


def test_a_value_removed_while_it_is_listed_is_not_listed(stores: Stores, clock: Clock) -> None:
    blobs = Hooked()
    records = DynamoRecords(TABLE, blobs, clock)
    for key in ("a", "b", "c"):
        records.put(ANN, "note", key, LARGE)
    blobs.before["read"] = lambda: stores.records.remove(ANN, "note", "a")
    page = records.list(ANN, "note", limit=2)
    assert [record.key for record in page.records] == ["b", "c"]
    assert page.next is None


def leave_out(clients: Clients, counts: list[int]) -> None:
    """Make DynamoDB answer only so many of the keys, request by request, as it does if it has no time for the rest."""

    def answered(parsed: dict[str, Any], **_: object) -> None:
        items = parsed["Responses"][TABLE]
        count = counts.pop(0) if counts else len(items)
        if left := items[count:]:
            keys = [{name: one[name] for name in ("pk", "sk")} for one in left]
            parsed["UnprocessedKeys"] = {TABLE: {"Keys": keys, "ConsistentRead": True}}
        del items[count:]

    clients.dynamodb.meta.events.register("after-call.dynamodb.BatchGetItem", answered)


def test_keys_that_dynamodb_leaves_out_are_asked_for_again(stores: Stores, clock: Clock) -> None:
    clients = Clients()
    records = DynamoRecords(TABLE, stores.blobs, clock, clients)
    written = {key: records.put(ANN, "note", key, {"key": key}) for key in "abcdef"}
    leave_out(clients, counts := [2, 0, 0, 1])
    assert records.get_all(ANN, "note", "abcdef") == written
    assert counts == []


def test_keys_that_dynamodb_leaves_out_again_and_again_are_an_error(stores: Stores, clock: Clock) -> None:
    clients, pauses = Clients(), list[float]()
    stores.records.put(ANN, "note", "a", {})
    leave_out(clients, [0] * 100)
    with pytest.raises(Unavailable, match="no capacity"):
        list(items_of(clients.dynamodb, TABLE, [key_of(ANN, "note", "a")], pauses.append))
    assert 3 < sum(pauses) < 10


def test_many_records_are_read_as_last_written(stores: Stores, clock: Clock) -> None:
    clients = Clients()
    asked: list[bool] = []

    def note(params: dict[str, Any], **_: object) -> None:
        asked.append(params["RequestItems"][TABLE]["ConsistentRead"])

    clients.dynamodb.meta.events.register("provide-client-params.dynamodb.BatchGetItem", note)
    DynamoRecords(TABLE, stores.blobs, clock, clients).get_all(ANN, "note", [*map(str, range(250))])
    assert asked == [True, True, True]


def test_one_lost_value_does_not_hide_the_other_records(records: RecordStore, blobs: BlobStore) -> None:
    records.put(ANN, "note", "a", LARGE)
    blobs.remove(ANN, blobs.list(ANN)[0])
    records.put(ANN, "note", "b", {})
    found = records.get_all(ANN, "note", "ab")
    assert {key: one.is_damaged for key, one in found.items()} == {"a": True, "b": False}


def test_a_value_that_is_lost_is_an_error_and_no_empty_answer(records: RecordStore, blobs: BlobStore) -> None:
    records.put(ANN, "note", "a", LARGE)
    blobs.remove(ANN, blobs.list(ANN)[0])
    with pytest.raises(Unavailable, match="missing from the bucket"):
        records.get(ANN, "note", "a")
    records.put(ANN, "note", "b", {})
    assert [(one.key, one.is_damaged) for one in records.list(ANN, "note").records] == [("a", True), ("b", False)]


def test_a_write_that_happened_is_told_so_though_the_old_value_could_not_be_cleared(
    clock: Clock, stores: Stores
) -> None:
    blobs = Hooked()
    records = DynamoRecords(TABLE, blobs, clock)
    records.put(ANN, "note", "a", LARGE)
    blobs.before["remove"] = unreachable
    written = records.put(ANN, "note", "a", {"new": True})
    assert stores.records.get(ANN, "note", "a") == written


def test_a_conflict_leaves_no_blob(stores: Stores) -> None:
    stores.records.put(ANN, "note", "a", {})
    with pytest.raises(Conflict):
        stores.records.put(ANN, "note", "a", LARGE, expect_version=ABSENT)
    assert stores.blobs.list(ANN) == []


def test_large_values_that_dynamodb_has_let_expire_are_cleared_by_later_ones(stores: Stores, clock: Clock) -> None:
    records, blobs = stores.records, stores.blobs
    records.put(ANN, "note", "kept", LARGE)
    records.put(ANN, "note", "later", LARGE, expires_at=clock.now + 10**6)
    kept = blobs.list(ANN)
    records.put(ANN, "note", "expired", LARGE, expires_at=clock.now + 1)
    clock.now += 3600 * 2
    records.put(ANN, "note", "new", LARGE, expires_at=clock.now + 1)
    left = blobs.list(ANN)
    assert set(kept) < set(left)
    assert len(left) == 3


def test_a_link_is_signed_for_the_buckets_region_and_ends_in_time(blobs: BlobStore) -> None:
    # moto serves a link whatever its signature says, so its parts are looked at.
    blobs.write(ANN, "folder/a", b"x")
    url = urlsplit(blobs.link(ANN, "folder/a", 90))
    parts = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert url.hostname == f"{BUCKET}.s3.{REGION}.amazonaws.com"
    assert url.path == f"/{ANN.key}/folder/a"
    assert parts["X-Amz-Algorithm"] == "AWS4-HMAC-SHA256"
    assert f"/{REGION}/s3/aws4_request" in parts["X-Amz-Credential"]
    assert parts["X-Amz-Expires"] == "90"
    assert parts["X-Amz-Signature"]


def test_a_link_asks_for_no_more_time_than_s3_gives(blobs: BlobStore) -> None:
    blobs.write(ANN, "a", b"x")
    assert "X-Amz-Expires=604800&" in blobs.link(ANN, "a", 30 * 24 * 3600)


def test_a_table_that_is_not_there_is_told(stores: Stores, clock: Clock) -> None:
    records = DynamoRecords("no-such-table", stores.blobs, clock)
    for call in (
        lambda: records.get(ANN, "note", "a"),
        lambda: records.get_all(ANN, "note", ["a"]),
        lambda: records.put(ANN, "note", "a", {}),
        lambda: records.remove(ANN, "note", "a"),
        lambda: records.list(ANN, "note"),
    ):
        with pytest.raises(Unavailable, match="LOCI_TABLE") as told:
            call()
        assert told.value.code == "STORE_UNAVAILABLE"


def test_a_bucket_that_is_not_there_is_told(stores: Stores) -> None:
    blobs = S3Blobs("no-such-bucket")
    for call in (
        lambda: blobs.read(ANN, "a"),
        lambda: blobs.write(ANN, "a", b""),
        lambda: blobs.remove(ANN, "a"),
        lambda: blobs.list(ANN),
    ):
        with pytest.raises(Unavailable, match="LOCI_BUCKET"):
            call()


@pytest.fixture
def nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(monkeypatch)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")


@pytest.mark.usefixtures("nobody_there")
def test_stores_that_cannot_be_reached_are_told(clock: Clock) -> None:
    blobs = S3Blobs(BUCKET)
    records = DynamoRecords(TABLE, blobs, clock)
    with pytest.raises(Unavailable, match="DynamoDB cannot be reached"):
        records.get(ANN, "note", "a")
    with pytest.raises(Unavailable, match="S3 cannot be reached"):
        blobs.read(ANN, "a")


@pytest.mark.usefixtures("nobody_there")
@pytest.mark.parametrize(
    ("name", "lacks"),
    [("AWS_ACCESS_KEY_ID", "DynamoDB needs credentials"), ("AWS_DEFAULT_REGION", "No region says where DynamoDB is")],
)
def test_what_the_environment_lacks_is_told(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, lacks: str
) -> None:
    monkeypatch.delenv(name)
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(Unavailable, match=lacks) as told:
        DynamoRecords(TABLE, S3Blobs(BUCKET), clock).get(ANN, "note", "a")
    assert {"AWS_ACCESS_KEY_ID": "AWS_PROFILE", "AWS_DEFAULT_REGION": "AWS_REGION"}[name] in told.value.resolution


def test_a_form_writes_one_object_of_a_limited_size(blobs: BlobStore) -> None:
    assert isinstance(blobs, S3Blobs)
    made = blobs.form(ANN, "executors/e/1/0000", 90, 5)
    fields = made["fields"]
    assert isinstance(fields, dict)
    allowed = json.loads(base64.b64decode(str(fields["policy"])))["conditions"]
    assert ["content-length-range", 0, 5] in allowed
    assert {"bucket": BUCKET} in allowed
    assert {"key": f"{ANN.key}/executors/e/1/0000"} in allowed


def test_what_a_form_sends_is_what_the_bucket_holds() -> None:
    with loopback_aws():
        blobs = S3Blobs(EXECUTORS)
        content = bytes(range(256)) + b"\r\n--not-the-boundary--\r\n"
        write_object(blobs.form(ANN, "a", 90, 1000), content)
        assert blobs.read(ANN, "a") == content
