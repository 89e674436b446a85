"""Records that something else than Loci wrote, put straight into the store."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3

from loci.core.identity import Owner
from loci.core.storage_keys import TABLE_KEYS
from tests.support.moto_aws import TABLE

GARBAGE = (
    "{",
    "[]",
    "null",
    "no JSON",
    "",
    '{"unheard": "of"}',
    '{"path": null, "tool": 5, "revoked": "x"}',
    "[" * 99_999,
)
"""No JSON, no object, without a field, with fields of another type, too deep."""

PAGE = 4096


def spoil_page(data: Path, table: str | None) -> None:
    """Overwrite the first page of the table; None: of the database. Nobody may have it open."""
    file = data / "loci.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        found = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    with file.open("r+b") as opened:
        opened.seek(PAGE * (found[0] - 1 if found else 0))
        opened.write(b"\xa5" * PAGE)


def damage(data: Path | None, owner: Owner, kind: str, key: str, text: str | bytes = "{") -> None:
    """Replace the record's value in the database of the data folder. Without a folder: in moto's table."""
    if data is not None:
        with closing(sqlite3.connect(data / "loci.db")) as connection, connection:
            value = "CAST(? AS TEXT)" if isinstance(text, bytes) else "?"
            connection.execute(
                f"INSERT OR REPLACE INTO record (owner, kind, key, value, version) VALUES (?, ?, ?, {value}, 'v')",  # noqa: S608
                (owner.key, kind, key.encode(), text),
            )
        return
    partition, sort = TABLE_KEYS
    item: dict[str, Any] = {partition: {"S": f"{owner.key}#{kind}"}, sort: {"S": key}, "version": {"S": "v"}}
    item["value"] = {"B": text} if isinstance(text, bytes) else {"S": text}
    boto3.client("dynamodb").put_item(TableName=TABLE, Item=item)  # pyright: ignore[reportUnknownMemberType]
