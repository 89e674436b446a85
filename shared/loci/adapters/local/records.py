"""`RecordStore` in one SQLite table."""

import json
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence

from loci.adapters.batches import batches
from loci.adapters.local.sqlite import Database
from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.core.json import JsonObject
from loci.core.stores import ABSENT, Record, RecordPage, checked_key, lost_race, stored_record

# SQLite refuses a whole query if one of its texts is not UTF-8; of bytes, only that record is unreadable.
SELECT = "SELECT key, CAST(value AS BLOB), version, expires_at FROM record"
# No UTF-8 text has this byte, so the prefix with it sorts behind every key with the prefix.
BEHIND_PREFIX = b"\xff"
AT_ONCE = 500
"""The most keys in one query."""
LASTING = frozenset(
    [
        "executor",
        "executor-run",
        "workflow",
        "workflow_value",
        "workflow_slot",
        "workflow_waiting",
        "workflow_owner",
    ]
)
"""Kinds of records that must survive a jump of the clock. Tokens are not among them: they must expire in time."""
EVEN_SECONDS = JUMP_SECONDS = 3600.0
FURTHEST = 400 * 86_400.0
"""Seconds by which a clock is wrong at most. Later, records expire even if Loci never runs for an hour."""


class Ages:
    """The clock for records that live for days. It is set far back until the system's clock has run evenly for an hour.

    After a start or a jump the system's clock may be wrong by weeks, and a removed record does not come back.
    """

    def __init__(self, clock: Callable[[], float], timer: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._timer = timer
        self._since = timer()
        self._apart = clock() - self._since

    def __call__(self) -> float:
        now, timer = self._clock(), self._timer()
        if abs(now - timer - self._apart) > JUMP_SECONDS:
            self._since = timer
        self._apart = now - timer
        return now if timer - self._since >= EVEN_SECONDS else now - FURTHEST


class SqliteRecords:
    """Records in a database that other processes may use at the same time."""

    def __init__(self, database: Database, clock: Callable[[], float], ages: Callable[[], float] | None = None) -> None:
        """`ages` is the clock for `LASTING` kinds, and for the removal of expired records."""
        self._database = database
        self._clock = clock
        self._ages = ages or (lambda: self._clock())

    def get(self, owner: Owner, kind: str, key: str) -> Record | None:
        with self._database.read() as connection:
            row = connection.execute(
                SELECT + " WHERE owner = ? AND kind = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)",
                (owner.key, kind, checked_key(key).encode(), self._now(kind)),
            ).fetchone()
        return None if row is None else _record(row)

    def get_all(self, owner: Owner, kind: str, keys: Sequence[str]) -> dict[str, Record]:
        wanted = [checked_key(key) for key in dict.fromkeys(keys)]
        found: dict[str, Record] = {}
        with self._database.read() as connection:
            for some in batches(wanted, AT_ONCE):
                rows = connection.execute(
                    f"{SELECT} WHERE owner = ? AND kind = ? AND key IN ({','.join('?' * len(some))})"
                    " AND (expires_at IS NULL OR expires_at > ?)",
                    (owner.key, kind, *(key.encode() for key in some), self._now(kind)),
                )
                found.update((record.key, record) for record in map(_record, rows))
        return {key: found[key] for key in wanted if key in found}

    def put(
        self,
        owner: Owner,
        kind: str,
        key: str,
        value: JsonObject,
        *,
        expect_version: str | None = None,
        expires_at: float | None = None,
        durable: bool = True,
    ) -> Record:
        record = Record(checked_key(key), value, random_id(), expires_at)
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
        with self._database.write(durable=durable) as connection:
            if expect_version is not None:
                self._expect(connection, owner, kind, key, expect_version)
            connection.execute(
                "INSERT OR REPLACE INTO record (owner, kind, key, value, version, expires_at) VALUES (?,?,?,?,?,?)",
                (owner.key, kind, key.encode(), text, record.version, expires_at),
            )
            if expires_at is not None:
                # Each write of an expiring record deletes the expired ones, so nothing else has to.
                connection.execute("DELETE FROM record WHERE expires_at <= ?", (self._ages(),))
        return record

    def remove(
        self, owner: Owner, kind: str, key: str, *, expect_version: str | None = None, durable: bool = True
    ) -> bool:
        with self._database.write(durable=durable) as connection:
            existed = self._expect(connection, owner, kind, checked_key(key), expect_version)
            connection.execute(
                "DELETE FROM record WHERE owner = ? AND kind = ? AND key = ?", (owner.key, kind, key.encode())
            )
        return existed

    def put_keys(self, owner: Owner, kind: str, keys: Sequence[str], *, remove: Sequence[str] = ()) -> None:
        put, gone = ([(owner.key, kind, checked_key(key).encode()) for key in some] for some in (keys, remove))
        with self._database.write(durable=False) as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO record (owner, kind, key, value, version) VALUES (?,?,?,'{}','')", put
            )
            connection.executemany("DELETE FROM record WHERE owner = ? AND kind = ? AND key = ?", gone)

    def remove_versions(self, owner: Owner, kind: str, versions: Mapping[str, str]) -> list[str]:
        removal = "DELETE FROM record WHERE owner = ? AND kind = ? AND key = ? AND version = ?"
        with self._database.write(durable=False) as connection:
            return [
                key
                for key, version in versions.items()
                if connection.execute(removal, (owner.key, kind, checked_key(key).encode(), version)).rowcount
            ]

    def owner_keys(self) -> list[str]:
        with self._database.read() as connection:
            return [key for [key] in connection.execute("SELECT DISTINCT owner FROM record ORDER BY owner")]

    def remove_all(self, owner: Owner) -> int:
        with self._database.write() as connection:
            return connection.execute("DELETE FROM record WHERE owner = ?", (owner.key,)).rowcount

    def list(
        self, owner: Owner, kind: str, *, prefix: str = "", limit: int = 100, after: str | None = None
    ) -> RecordPage:
        start = checked_key(prefix).encode() if prefix else b""
        last = b"" if after is None else checked_key(after).encode()
        # One lower bound: of two, SQLite takes the first, and reads all pages before this one again.
        bound, lowest = (">", last) if last >= start else (">=", start)
        with self._database.read() as connection:
            rows = connection.execute(
                SELECT + f" WHERE owner = ? AND kind = ? AND key {bound} ? AND key < ?"
                " AND (expires_at IS NULL OR expires_at > ?) ORDER BY key LIMIT ?",
                (
                    owner.key,
                    kind,
                    lowest,
                    start + BEHIND_PREFIX,
                    self._now(kind),
                    limit + 1,
                ),
            ).fetchall()
        records = tuple(_record(row) for row in rows[:limit])
        return RecordPage(records, records[-1].key if len(rows) > limit else None)

    def _now(self, kind: str) -> float:
        return self._ages() if kind in LASTING else self._clock()

    def _expect(
        self, connection: sqlite3.Connection, owner: Owner, kind: str, key: str, expect_version: str | None
    ) -> bool:
        """True if the record is there. Raises `Conflict` if it has another version than expected."""
        held = connection.execute(
            "SELECT version FROM record WHERE owner = ? AND kind = ? AND key = ?"
            " AND (expires_at IS NULL OR expires_at > ?)",
            (owner.key, kind, key.encode(), self._now(kind)),
        ).fetchone()
        if expect_version is not None and expect_version != (ABSENT if held is None else held[0]):
            raise lost_race(kind)
        return held is not None


def _record(row: tuple[bytes, bytes, str, float | None]) -> Record:
    key, value, version, expires_at = row
    return stored_record(key.decode(), value, version, expires_at)
