"""`RecordStore` in one DynamoDB table. An item holds the record's value, or the key of a blob with a large value."""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from loci.adapters.aws.clients import Clients, translate_errors
from loci.adapters.batches import batches
from loci.core.errors import Conflict, NotFound, Unavailable
from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.core.json import JsonObject
from loci.core.storage_keys import TABLE_EXPIRY, TABLE_KEYS
from loci.core.stores import ABSENT, OWNER_KEY, BlobStore, Record, RecordPage, checked_key, lost_race, stored_record

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_dynamodb.type_defs import AttributeValueTypeDef as Attribute
    from types_boto3_dynamodb.type_defs import QueryInputTypeDef as Query


PARTITION, SORT = TABLE_KEYS


@dataclass(frozen=True, slots=True)
class InBlob:
    """The key of the blob with a large value. Each write has a blob of its own, so a reader never mixes two values."""

    key: str


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A record as the table holds it."""

    key: str
    version: str
    value: str | InBlob
    expires_at: float | None


def partition_of(owner: Owner, kind: str) -> "Attribute":
    return {"S": f"{owner.key}#{kind}"}


def key_of(owner: Owner, kind: str, key: str) -> "dict[str, Attribute]":
    return {PARTITION: partition_of(owner, kind), SORT: {"S": key}}


def item_of(owner: Owner, kind: str, row: RecordRow) -> "dict[str, Attribute]":
    item = key_of(owner, kind, row.key)
    item["version"] = {"S": row.version}
    match row.value:
        case str(text):
            item["value"] = {"S": text}  # not a map: DynamoDB would round numbers
        case InBlob(key):
            item["blob"] = {"S": key}
    if row.expires_at is not None:
        item["expires_at"] = {"N": repr(float(row.expires_at))}
        # For DynamoDB's own expiry, which counts in whole seconds.
        item[TABLE_EXPIRY] = {"N": str(math.ceil(row.expires_at))}
    return item


def row_of(item: "Mapping[str, Attribute]") -> RecordRow:
    # Each attribute has its type and its text: {"S": "abc"}, {"N": "1.5"}.
    text = {name: str(*attribute.values()) for name, attribute in item.items()}
    return RecordRow(
        key=text[SORT],
        # Another program that writes to the table may leave something out: then the record is damaged.
        version=text.get("version", ""),
        value=InBlob(text["blob"]) if "blob" in text else text.get("value", ""),
        expires_at=float(text["expires_at"]) if "N" in item.get("expires_at", {}) else None,
    )


MOST_TOGETHER = 100
"""Keys in one request. DynamoDB refuses more, and the same key twice."""
AT_ONCE = 25
"""Writes in one request."""
ATTEMPTS = 8
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0


def items_of(
    client: "DynamoDBClient",
    table: str,
    keys: "Sequence[dict[str, Attribute]]",
    pause: Callable[[float], None] = time.sleep,
) -> "Iterator[dict[str, Attribute]]":
    """Read the items with these keys, at most `MOST_TOGETHER` different ones, in any order.

    DynamoDB leaves out keys for which it has no room or time, since an answer has at most 16 MB. They are requested
    again.
    """
    asked = {table: {"Keys": [*keys], "ConsistentRead": True}}
    wait, failed = FIRST_PAUSE, 0
    while asked:
        answer = client.batch_get_item(RequestItems=asked)  # type: ignore[arg-type]
        found = answer["Responses"].get(table, [])
        yield from found
        asked = answer.get("UnprocessedKeys") or {}
        if found or not asked:
            wait, failed = FIRST_PAUSE, 0
            continue
        failed += 1
        if failed == ATTEMPTS:
            raise Unavailable("DynamoDB has no capacity for more reads just now", "Try again in a moment")
        pause(wait)
        wait = min(2 * wait, LONGEST_PAUSE)


LARGEST_VALUE = 350 * 1024  # an item may have 400 KB, with all its names
MOST_ROWS = 1000  # more than fit into one answer; DynamoDB refuses very large limits
NEVER = "never"
CLOCK_SKEW = 3600
RESOLUTIONS = {
    "ResourceNotFoundException": "Deploy the stack, or set LOCI_TABLE to the table it made",
    "AccessDeniedException": "Allow this role to query and scan the table, and to get, put and delete its items",
}


class BlobMissing(Unavailable):
    """The item of a record points to a blob that is not in the bucket."""


class WriteCondition(TypedDict, total=False):
    """The arguments of a write that must replace the expected version."""

    ConditionExpression: str
    ExpressionAttributeValues: "dict[str, Attribute]"
    ReturnValuesOnConditionCheckFailure: Literal["ALL_OLD"]


class DynamoRecords:
    """Records in a table. Nothing of AWS is loaded before the first call."""

    def __init__(
        self, table: str, blobs: BlobStore, clock: Callable[[], float], clients: Clients | None = None
    ) -> None:
        self._table = table
        self._blobs = blobs
        self._clock = clock
        self._clients = clients or Clients()

    def get(self, owner: Owner, kind: str, key: str) -> Record | None:
        return self._record(owner, kind, self._row(owner, kind, checked_key(key)))

    def get_all(self, owner: Owner, kind: str, keys: Sequence[str]) -> dict[str, Record]:
        wanted = [checked_key(key) for key in dict.fromkeys(keys)]
        rows: dict[str, RecordRow] = {}
        for some in batches(wanted, MOST_TOGETHER):
            with self._translate_errors():
                items = items_of(self._clients.dynamodb, self._table, [key_of(owner, kind, key) for key in some])
                rows |= {row.key: row for row in map(row_of, items) if self._is_live(row)}
        found = ((key, self._record_or_damaged(owner, kind, rows[key])) for key in wanted if key in rows)
        return {key: record for key, record in found if record is not None}

    def put(
        self,
        owner: Owner,
        kind: str,
        key: str,
        value: JsonObject,
        *,
        expect_version: str | None = None,
        expires_at: float | None = None,
        durable: bool = True,  # noqa: ARG002 (every write to DynamoDB is durable)
    ) -> Record:
        record = Record(checked_key(key), value, random_id(), expires_at)
        row = RecordRow(key, record.version, self._item_value(owner, kind, record), expires_at)
        try:
            replaced = self._put(owner, kind, row, expect_version)
        except Conflict:
            self._discard(owner, row)
            raise
        if replaced is not None and replaced.value != row.value:
            self._discard(owner, replaced)
        if isinstance(row.value, InBlob) and expires_at is not None:
            self._sweep(owner, kind)
        return record

    def remove(
        self,
        owner: Owner,
        kind: str,
        key: str,
        *,
        expect_version: str | None = None,
        durable: bool = True,  # noqa: ARG002 (every write to DynamoDB is durable)
    ) -> bool:
        item_key = key_of(owner, kind, checked_key(key))
        with self._translate_errors():
            try:
                answer = self._clients.dynamodb.delete_item(
                    TableName=self._table, Key=item_key, ReturnValues="ALL_OLD", **self._expected(expect_version)
                )
            except self._clients.dynamodb.exceptions.ConditionalCheckFailedException:
                raise lost_race(kind) from None
        if not (held := answer.get("Attributes")):
            return False
        row = row_of(held)
        self._discard(owner, row)
        return self._is_live(row)

    def put_keys(self, owner: Owner, kind: str, keys: Sequence[str], *, remove: Sequence[str] = ()) -> None:
        rows = (RecordRow(checked_key(key), random_id(), "{}", None) for key in keys)
        puts: list[Any] = [{"PutRequest": {"Item": item_of(owner, kind, row)}} for row in rows]
        self._write_together([*puts, *({"DeleteRequest": {"Key": key_of(owner, kind, key)}} for key in remove)])

    def remove_versions(self, owner: Owner, kind: str, versions: Mapping[str, str]) -> list[str]:
        removed: list[str] = []
        for key, version in versions.items():
            with suppress(Conflict):  # a transaction would remove none of them
                removed += [key] if self.remove(owner, kind, key, expect_version=version) else []
        return removed

    def owner_keys(self) -> list[str]:
        partitions = (str(one[PARTITION].get("S")) for one in self._scanned())
        return sorted({key for key in (one.partition("#")[0] for one in partitions) if OWNER_KEY.fullmatch(key)})

    def remove_all(self, owner: Owner) -> int:
        return self._write_together([{"DeleteRequest": {"Key": key}} for key in self._scanned(owner)])

    def list(
        self, owner: Owner, kind: str, *, prefix: str = "", limit: int = 100, after: str | None = None
    ) -> RecordPage:
        records: list[Record] = []
        for row in self._rows(owner, kind, prefix, after, limit + 1):
            if len(records) == limit:
                return RecordPage(tuple(records), records[-1].key)
            record = self._record_or_damaged(owner, kind, row)
            if record is not None:
                records.append(record)
        return RecordPage(tuple(records), None)

    def _write_together(self, requests: Sequence[Any]) -> int:
        """Put and delete items, and return their number."""
        for some in batches(requests, AT_ONCE):
            left: Any = {self._table: some}
            with self._translate_errors():
                while left := self._clients.dynamodb.batch_write_item(RequestItems=left).get("UnprocessedItems"):
                    time.sleep(FIRST_PAUSE)
        return len(requests)

    def _scanned(self, owner: Owner | None = None) -> "Iterator[dict[str, Attribute]]":
        """The keys of all items, or of the owner's. A partition is of one kind, so only a scan finds every kind."""
        asked: dict[str, Any] = {"ProjectionExpression": f"{PARTITION}, {SORT}", "ConsistentRead": True}
        if owner is not None:
            asked["FilterExpression"] = f"begins_with({PARTITION}, :owner)"
            asked["ExpressionAttributeValues"] = {":owner": {"S": f"{owner.key}#"}}
        with self._translate_errors():
            for page in self._clients.dynamodb.get_paginator("scan").paginate(TableName=self._table, **asked):
                yield from page["Items"]

    def _record(self, owner: Owner, kind: str, row: RecordRow | None) -> Record | None:
        """Load the record of the row. If the row was replaced meanwhile, load its current record."""
        while row is not None:
            try:
                return stored_record(row.key, self._text(owner, row), row.version, row.expires_at)
            except NotFound:
                # A blob is deleted after the item that pointed to it: by now there is another item, or none.
                now = self._row(owner, kind, row.key)
                if now is not None and now.version == row.version:
                    raise BlobMissing(
                        f"The value of the {kind} {row.key!r} is missing from the bucket",
                        "Check that LOCI_BUCKET names the bucket that belongs to the table",
                    ) from None
                row = now
        return None

    def _record_or_damaged(self, owner: Owner, kind: str, row: RecordRow) -> Record | None:
        """Load one of several records. A lost value gives a damaged record, so that it does not hide the others."""
        try:
            return self._record(owner, kind, row)
        except BlobMissing:
            return Record(row.key, {}, row.version, row.expires_at, is_damaged=True)

    def _text(self, owner: Owner, row: RecordRow) -> str | bytes:
        match row.value:
            case str(text):
                return text
            case InBlob(key):
                return self._blobs.read(owner, key)

    def _row(self, owner: Owner, kind: str, key: str) -> RecordRow | None:
        with self._translate_errors():
            answer = self._clients.dynamodb.get_item(
                TableName=self._table, Key=key_of(owner, kind, key), ConsistentRead=True
            )
        row = row_of(answer["Item"]) if "Item" in answer else None
        return row if row is not None and self._is_live(row) else None

    def _rows(self, owner: Owner, kind: str, prefix: str, after: str | None, first: int) -> Iterator[RecordRow]:
        """Read the rows that have not expired, in order. The first request asks for at most `first` rows."""
        values: dict[str, Attribute] = {":pk": partition_of(owner, kind)}
        query: Query = {"TableName": self._table, "ConsistentRead": True, "ExpressionAttributeValues": values}
        query["KeyConditionExpression"] = f"{PARTITION} = :pk"
        if prefix:
            query["KeyConditionExpression"] = f"{PARTITION} = :pk AND begins_with({SORT}, :prefix)"
            values[":prefix"] = {"S": checked_key(prefix)}
        if after is not None and checked_key(after) >= prefix:
            if not after.startswith(prefix):
                return  # no such key comes after it, and DynamoDB refuses to start there
            query["ExclusiveStartKey"] = key_of(owner, kind, after)
        query["Limit"] = min(first, MOST_ROWS)
        while True:
            with self._translate_errors():
                answer = self._clients.dynamodb.query(**query)
            yield from (row for row in map(row_of, answer["Items"]) if self._is_live(row))
            if "LastEvaluatedKey" not in answer:
                return
            query["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
            query.pop("Limit", None)  # some had expired: from now on take as many as fit into an answer

    def _put(self, owner: Owner, kind: str, row: RecordRow, expect_version: str | None) -> RecordRow | None:
        """Write the row, and return the row that it replaced."""
        item, condition = item_of(owner, kind, row), self._expected(expect_version)
        with self._translate_errors():
            try:
                answer = self._clients.dynamodb.put_item(
                    TableName=self._table, Item=item, ReturnValues="ALL_OLD", **condition
                )
            except self._clients.dynamodb.exceptions.ConditionalCheckFailedException as error:
                held = error.response.get("Item")
                # If an answer got lost, boto3 has written twice, and the second write met the first.
                if held and row_of(held).version == row.version:
                    return None
                raise lost_race(kind) from None
        replaced = answer.get("Attributes")
        return row_of(replaced) if replaced else None

    def _expected(self, version: str | None) -> WriteCondition:
        if version is None:
            return {}
        values: dict[str, Attribute] = {":now": {"N": repr(float(self._clock()))}}
        condition = f"attribute_not_exists({PARTITION}) OR expires_at <= :now"
        if version != ABSENT:
            values[":version"] = {"S": version}
            condition = "version = :version AND (attribute_not_exists(expires_at) OR expires_at > :now)"
        return {
            "ConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def _is_live(self, row: RecordRow) -> bool:
        """False if the row has expired. DynamoDB itself may take hours to delete it."""
        return row.expires_at is None or row.expires_at > self._clock()

    def _item_value(self, owner: Owner, kind: str, record: Record) -> str | InBlob:
        """The value for the item. A large value is written to its blob first."""
        text = json.dumps(record.value, separators=(",", ":"), allow_nan=False)
        if len(text) <= LARGEST_VALUE:  # this JSON is ASCII, so a character is a byte
            return text
        until = NEVER if record.expires_at is None else math.ceil(record.expires_at)
        blob = InBlob(f"records/{kind}/{until}/{record.version}")
        self._blobs.write(owner, blob.key, text.encode())
        return blob

    def _discard(self, owner: Owner, row: RecordRow) -> None:
        if isinstance(row.value, InBlob):
            # The write has succeeded. A blob left behind only costs space, and an error would say otherwise.
            with suppress(Unavailable):
                self._blobs.remove(owner, row.value.key)

    def _sweep(self, owner: Owner, kind: str) -> None:
        """Delete the blobs of expired items at each such write: DynamoDB deletes only the items."""
        with suppress(Unavailable):
            for key in self._blobs.list(owner, f"records/{kind}/"):
                until = key.split("/")[-2]
                if until != NEVER and int(until) < self._clock() - CLOCK_SKEW:
                    self._blobs.remove(owner, key)

    def _translate_errors(self) -> AbstractContextManager[None]:
        return translate_errors("DynamoDB", f"the table {self._table}", RESOLUTIONS)


def recovery_days(table: str, clients: Clients) -> int:
    """The days back to which the table can be restored; 0 if it cannot."""
    with translate_errors("DynamoDB", f"the table {table}", RESOLUTIONS):
        told: Any = clients.dynamodb.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    recovery = told.get("PointInTimeRecoveryDescription", {})
    return recovery.get("RecoveryPeriodInDays", 35) if recovery.get("PointInTimeRecoveryStatus") == "ENABLED" else 0
