"""Records as items of the DynamoDB table: an item holds the value, or points to a blob that does."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.core.identity import Owner
from loci.core.storage_keys import TABLE_EXPIRY, TABLE_KEYS

if TYPE_CHECKING:
    from types_boto3_dynamodb.type_defs import AttributeValueTypeDef as Attribute


@dataclass(frozen=True, slots=True)
class InBlob:
    """The key of the blob with a large value. Each write has its own blob, so no reader mixes two of them."""

    key: str


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A record as the table holds it."""

    key: str
    version: str
    value: str | InBlob
    expires_at: float | None


PARTITION, SORT = TABLE_KEYS


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
        item[TABLE_EXPIRY] = {
            "N": str(math.ceil(row.expires_at))
        }  # for DynamoDB's own expiry, which counts in whole seconds
    return item


def row_of(item: "Mapping[str, Attribute]") -> RecordRow:
    # Each attribute has its type and its text: {"S": "abc"}, {"N": "1.5"}.
    text = {name: str(*attribute.values()) for name, attribute in item.items()}
    return RecordRow(
        key=text[SORT],
        # What else may write to the table may leave something out: then the record is damaged.
        version=text.get("version", ""),
        value=InBlob(text["blob"]) if "blob" in text else text.get("value", ""),
        expires_at=float(text["expires_at"]) if "N" in item.get("expires_at", {}) else None,
    )
