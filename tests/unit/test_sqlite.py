"""The embedded database: who may read its file, and one clear line where it cannot be used."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loci.adapters.local import sqlite
from loci.adapters.local.sqlite import VERSION, Database
from loci.core.errors import Damaged, Misconfigured, Unavailable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "loci.db"


def put(database: Database, value: str) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO record VALUES ('o', 'k', randomblob(8), ?, 'v', NULL)", (value,))


def count(database: Database) -> int:
    with database.read() as connection:
        return connection.execute("SELECT count(*) FROM record").fetchone()[0]


def in_a_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_no_other_user_may_read_any_of_its_files(path: Path) -> None:
    database = Database(path)
    put(database, "{}")
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == {"loci.db": 0o600, "loci.db-wal": 0o600, "loci.db-shm": 0o600}


def test_what_was_written_is_there_when_it_is_opened_again(path: Path) -> None:
    put(Database(path), "{}")
    assert count(Database(path)) == 1


@pytest.mark.parametrize("content", [b"not a database, but a text\n" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_file_is_told_in_one_line(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(Misconfigured) as told:
        Database(path)
    assert str(path) in told.value.what
    assert "\n" not in str(told.value)
    assert path.read_bytes() == content


def test_a_damaged_page_is_told_in_one_line(path: Path) -> None:
    database = Database(path)
    for _ in range(100):
        put(database, "x" * 1000)
    with database.read() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[4096 * 2 :] = b"\xff" * (len(content) - 4096 * 2)
    path.write_bytes(content)
    with pytest.raises(Damaged) as told:
        count(Database(path))
    assert "damaged" in told.value.what
    assert "\n" not in str(told.value)


def test_tables_of_a_newer_loci_are_left_alone(path: Path) -> None:
    with Database(path).write() as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(Misconfigured) as told:
        Database(path)
    assert "newer Loci" in told.value.what


def test_a_file_that_was_moved_away_is_told_in_one_line(path: Path) -> None:
    database = Database(path)
    with database.read() as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # in WAL mode SQLite does not notice
    path.rename(path.with_name("moved.db"))
    with pytest.raises(Misconfigured) as told:
        put(database, "{}")
    assert str(path) in told.value.what


def test_a_folder_that_is_not_there_is_told_in_one_line(path: Path) -> None:
    with pytest.raises(Misconfigured) as told:
        Database(path.parent / "missing" / "loci.db")
    assert "--data" in told.value.resolution


def test_a_first_connection_waits_for_another_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sqlite3.connect(path, isolation_level=None)
    first.execute("BEGIN IMMEDIATE")

    def execute(connection: sqlite3.Connection, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql == "BEGIN IMMEDIATE" and first.in_transaction:
            first.execute("ROLLBACK")  # the first is done while the second waits
        return sqlite3.Connection.execute(connection, sql, *parameters)

    monkeypatch.setattr("loci.adapters.local.sqlite._Connection.execute", execute, raising=False)
    assert count(Database(path)) == 0
    first.close()


def test_an_error_inside_a_transaction_undoes_it(path: Path) -> None:
    database = Database(path)
    with pytest.raises(KeyError):
        _fail_after_a_write(database)
    assert count(database) == 0
    put(database, "{}")
    assert count(database) == 1


def test_writes_together_are_one_transaction(path: Path) -> None:
    database = Database(path)
    with database.together():
        put(database, "1")
        put(database, "2")
        seen = list[int]()
        in_a_thread(lambda: seen.append(count(database)))
    assert seen == [0]
    assert count(database) == 2
    put(database, "3")
    assert count(database) == 3


def test_an_error_undoes_all_writes_together(path: Path) -> None:
    database = Database(path)
    with pytest.raises(ValueError), database.together():  # noqa: PT011, PT012
        put(database, "1")
        raise ValueError
    assert count(database) == 0
    put(database, "2")
    assert count(database) == 1


def test_a_full_disk_is_told_and_later_writes_happen(path: Path) -> None:
    database = Database(path)
    with database.read() as connection:
        connection.execute("PRAGMA max_page_count = 20")
    with pytest.raises(Unavailable) as told:
        put(database, "x" * 1_000_000)
    assert "No space" in told.value.what
    with database.read() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    put(database, "{}")
    assert count(database) == 1


def test_a_commit_that_fails_leaves_the_connection_usable(path: Path) -> None:
    database = Database(path)
    with database.write() as connection:
        connection.execute(
            "CREATE TABLE strict (id INTEGER PRIMARY KEY, other REFERENCES strict DEFERRABLE INITIALLY DEFERRED)"
        )
    with database.read() as connection:
        connection.execute("PRAGMA foreign_keys = ON")
    with pytest.raises(Unavailable), database.write() as connection:
        connection.execute("INSERT INTO strict VALUES (1, 2)")  # which only COMMIT refuses
    put(database, "{}")
    assert count(database) == 1


def test_each_thread_has_a_connection_of_its_own(path: Path) -> None:
    database = Database(path)
    used: list[sqlite3.Connection] = []

    def use() -> None:
        with database.read() as connection:
            used.append(connection)

    for _ in range(2):
        use()
        in_a_thread(use)
    assert used[0] is used[2]
    assert len({id(connection) for connection in used}) == 3


def _fail_after_a_write(database: Database) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO record VALUES ('o', 'k', x'00', '{}', 'v', NULL)")
        raise KeyError


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="counted on Linux only")
def test_a_file_that_is_read_whole_is_not_kept_in_memory_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "MAPPED", 2**20)
    database = Database(path)
    with database.write() as connection:
        for _ in range(80):
            connection.execute("INSERT INTO record VALUES ('o', 'k', randomblob(8), hex(randomblob(50000)), 'v', NULL)")
    with database.read() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("SELECT sum(length(value)), count(DISTINCT value) FROM record").fetchone()
    mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(str(path))]
    sizes = [int(end, 16) - int(start, 16) for start, end in (line.split()[0].split("-") for line in mapped)]
    assert path.stat().st_size > 6 * 2**20
    assert 0 < sum(sizes) <= 2**20


@pytest.mark.parametrize("is_empty", [True, False])
def test_no_new_file_takes_the_place_of_one_that_is_lost_while_texts_are_kept(path: Path, is_empty: bool) -> None:
    if is_empty:
        path.touch()
    kept = path.parent / "blobs" / "owner" / "documents=" / "plan@"
    kept.parent.mkdir(parents=True)
    kept.write_text("# Plan")
    with pytest.raises(Misconfigured) as told:
        Database(path)
    assert "gone or empty" in told.value.what
    assert path.exists() is is_empty
