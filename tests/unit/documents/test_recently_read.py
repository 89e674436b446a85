"""The documents read lately: one record each, which expires and is not written more often than needed."""

from pathlib import Path

import pytest

from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.core.identity import LOCAL, Owner
from loci.documents.recently_read import KEPT_SECONDS, MAX_REMEMBERED, READ, REPEAT_SECONDS, RecentlyRead


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def records(tmp_path: Path, clock: Clock) -> SqliteRecords:
    return SqliteRecords(Database(tmp_path / "loci.db"), clock)


def version(records: SqliteRecords) -> str:
    record = records.get(LOCAL, READ, "a")
    assert record
    return record.version


def test_another_process_knows_what_was_read(records: SqliteRecords, clock: Clock) -> None:
    RecentlyRead(records, clock).note(LOCAL, "a", "x")
    other = RecentlyRead(records, clock)
    assert other.hashes(LOCAL) == {"a": "x"}
    assert other.hashes(Owner("", "somebody")) == {}


def test_the_last_reading_counts(records: SqliteRecords, clock: Clock) -> None:
    read = RecentlyRead(records, clock)
    read.note(LOCAL, "a", "x")
    read.note(LOCAL, "a", "y")
    assert read.hashes(LOCAL) == {"a": "y"}


def test_a_mark_expires(records: SqliteRecords, clock: Clock) -> None:
    read = RecentlyRead(records, clock)
    read.note(LOCAL, "a", "x")
    clock.now += KEPT_SECONDS + 1
    assert read.hashes(LOCAL) == {}


def test_within_a_day_the_same_is_written_once(records: SqliteRecords, clock: Clock) -> None:
    read = RecentlyRead(records, clock)
    read.note(LOCAL, "a", "x")
    first = version(records)
    read.note(LOCAL, "a", "x")
    assert version(records) == first
    clock.now += REPEAT_SECONDS
    read.note(LOCAL, "a", "x")
    assert version(records) != first


def test_what_it_remembers_is_bounded(records: SqliteRecords, clock: Clock) -> None:
    read = RecentlyRead(records, clock)
    read.note(LOCAL, "a", "x")
    first = version(records)
    for number in range(MAX_REMEMBERED):
        read.note(LOCAL, f"b{number}", "x")
    read.note(LOCAL, "a", "x")
    assert version(records) != first
