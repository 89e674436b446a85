"""Mends a damaged database: its records, and the vectors that cost most, go into an empty one that takes its place.

SQLite forbids to rename a database in use. So the new pages replace the old ones in one transaction: a server that runs
sees the old database or the new one, and so does a start after a crash.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

from loci.adapters.local.migrations import RECORDS, VERSION
from loci.adapters.local.sqlite import connected, explained, find_faults, is_damage, migrate
from loci.adapters.local.write_locks import FolderWriteLocks
from loci.core.errors import Misconfigured, Unavailable
from loci.core.identity import SYSTEM
from loci.core.ids import random_id
from loci.core.layout import DAMAGED
from loci.core.whole_files import PRIVATE, hold, sync

BEFORE: Final = " before"
"""The end of the names of collections that only keep embeddings: the rebuild of the index uses them again."""
PATIENCE = 600.0
"""Seconds to wait for another process that mends the same database."""
PAGE = 4096
TEXT = "CAST(? AS TEXT)"
RECORD = "SELECT owner, kind, key, value, version, expires_at FROM record"
PUT_RECORD = f"INSERT OR IGNORE INTO record VALUES ({TEXT}, {TEXT}, ?, {TEXT}, {TEXT}, ?)"  # noqa: S608
KEYS = "SELECT owner, kind, key FROM record{where} ORDER BY owner {order}, kind {order}, key {order}"
ONE_RECORD = f"{RECORD} WHERE owner = {TEXT} AND kind = {TEXT} AND key = ?"
SCOPES = f"SELECT number, owner, collection || '{BEFORE}', 0 FROM scope"  # noqa: S608
PUT_SCOPE = f"INSERT OR IGNORE INTO scope VALUES (?, {TEXT}, {TEXT}, ?)"  # noqa: S608
CHUNKS = "SELECT number FROM chunk NOT INDEXED ORDER BY number {order}"
ONE_CHUNK = "SELECT number, scope, id, hash, model, bits FROM chunk WHERE model IS NOT NULL AND number = ?"
PUT_CHUNK = (
    "INSERT OR IGNORE INTO chunk (number, scope, document, id, hash, model, first_line, last_line, path, title,"  # noqa: S608
    f" heading, bits, text, words) VALUES (?, ?, 0, {TEXT}, {TEXT}, {TEXT}, 0, 0, '', '', '', ?, '', '')"
)
ONE_VECTOR = "SELECT number, vector FROM vector WHERE number = ?"
PUT_VECTOR = "INSERT OR IGNORE INTO vector VALUES (?, ?)"


@dataclass(frozen=True, slots=True)
class Mended:
    """The outcome for a database that was damaged."""

    what: str
    is_whole: bool
    """False if some records could not be read. The damaged file is kept then."""


def mend(path: Path) -> Mended | None:
    """Make the database whole, with an empty index, and say what was wrong; None if it is whole.

    Raises `Misconfigured` if no record can be read: then only a copy helps.
    """
    with FolderWriteLocks(path.parent / "turns").take(SYSTEM, "mend the database", PATIENCE) as is_ours:
        if not is_ours:
            raise Unavailable(f"Another process mends {path}", "Try again when it is done")
        faults = find_faults(path) if path.exists() else []
        return _mended(path, faults[0]) if faults else None


def _mended(path: Path, fault: str) -> Mended:
    scratch = path.with_name(f".{random_id()}")
    kept = path.with_name(f"{path.name}{DAMAGED}{time.time_ns() // 1_000_000}")
    try:
        _open_somehow(path, kept)
        with ExitStack() as stack:
            # Held, so that no server that starts takes it for one that a killed process left.
            opener = partial(os.open, mode=PRIVATE)
            hold(stack.enter_context(open(scratch, "xb", opener=opener)).fileno())
            fresh = stack.enter_context(closing(sqlite3.connect(scratch, isolation_level=None)))
            fresh.execute("PRAGMA journal_mode = MEMORY")
            fresh.execute("BEGIN")
            migrate(fresh, path.parent)
            fresh.execute("COMMIT")
            # To read from a database that was attached would make the fresh one unwritable at the first fault.
            old, damaged = (stack.enter_context(closing(connected(path))) for _ in range(2))
            old.text_factory = bytes  # a record with bytes that are no UTF-8 hides no others
            filling = _Filling(path, kept, old, fresh)
            damaged.execute("PRAGMA synchronous = FULL")
            # The first step locks the damaged database, and is told with the lock held: no write comes between.
            fresh.backup(damaged, pages=1, progress=filling.fill)
    except sqlite3.Error as error:
        raise explained(path, error) from error
    finally:
        scratch.unlink(missing_ok=True)
    if filling.is_whole:
        _forget_copy(kept)
        return Mended(f"{path} was damaged ({fault}). All its records were kept", is_whole=True)
    what = f"{path} was damaged ({fault}), and some of its records could not be read. The damaged file is kept as"
    return Mended(f"{what} {kept.name}: if you have a copy of the data folder, restore that", is_whole=False)


def is_half_mended(path: Path) -> bool:
    """True until the indexes of all owners are rebuilt."""
    with closing(connected(path)) as connection:
        sql = "SELECT EXISTS (SELECT * FROM scope WHERE collection = ?)"
        return bool(connection.execute(sql, (BEFORE,)).fetchone()[0])


def end_mending(path: Path) -> None:
    """Forget the embeddings that were kept for the rebuild."""
    with closing(connected(path)) as connection, connection:
        connection.execute("BEGIN IMMEDIATE")
        kept = f"SELECT number FROM scope WHERE collection LIKE '%{BEFORE}'"  # noqa: S608
        connection.execute(f"DELETE FROM chunk WHERE scope IN ({kept})")  # noqa: S608
        connection.execute(f"DELETE FROM scope WHERE number IN ({kept})")  # noqa: S608


class _Filling:
    """Fills an empty database from the damaged one, once."""

    def __init__(self, path: Path, kept: Path, old: sqlite3.Connection, fresh: sqlite3.Connection) -> None:
        self._path = path
        self._kept = kept
        self._old = old
        self._fresh = fresh
        self._is_filled = False
        self.is_whole = True
        """False if some records could not be read."""

    def fill(self, _status: int, _left: int, _every: int) -> None:
        if self._is_filled:
            return
        self._is_filled = True
        self._fresh.execute("BEGIN")
        self.is_whole = self._copied(RECORD, PUT_RECORD)
        if not self.is_whole:
            self._each_record()
            if not self._fresh.execute("SELECT EXISTS (SELECT * FROM record)").fetchone()[0]:
                raise _hopeless(self._path)
            _keep_copy(self._path, self._kept)
        self._embeddings()
        self._fresh.execute("COMMIT")

    def _each_record(self) -> None:
        """Copy from both ends, then from both ends of each kind of each owner: a damaged page hides the next ones."""
        self._walk(KEYS.replace("{where}", ""), ONE_RECORD, PUT_RECORD)
        owners, kinds = (
            [one for [one] in self._fresh.execute(f"SELECT DISTINCT {column} FROM record").fetchall()]  # noqa: S608
            for column in ("owner", "kind")
        )
        for pair in product(owners, kinds):
            self._walk(KEYS.replace("{where}", " WHERE owner = ? AND kind = ?"), ONE_RECORD, PUT_RECORD, pair)

    def _embeddings(self) -> None:
        # A marker, too: as long as there is such a scope, the index of every owner has to be rebuilt.
        self._fresh.execute("INSERT INTO scope VALUES (0, '', ?, 0)", (BEFORE,))
        if self._copied(SCOPES, PUT_SCOPE):
            self._walk(CHUNKS, ONE_CHUNK, PUT_CHUNK)
            self._walk(CHUNKS, ONE_VECTOR, PUT_VECTOR)
        # Caches of servers that run know rows by their numbers, so none is used twice; and the first removal that is
        # known comes after all that they have seen, so they read everything again.
        now = time.time_ns() // 1_000_000
        self._fresh.execute("DELETE FROM sqlite_sequence")
        self._fresh.executemany(
            "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)",
            [(table, now) for table in ("document", "chunk", "gone")],
        )
        self._fresh.execute("INSERT INTO gone (scope, chunk) VALUES (0, 0)")
        self._fresh.execute("UPDATE revision SET number = ?", (now,))

    def _walk(self, keys: str, one: str, put: str, values: Sequence[object] = ()) -> None:
        """Copy row by row from the first one on, and if a page is damaged also from the last one back."""
        for order in ("ASC", "DESC"):
            try:
                for key in self._old.execute(keys.replace("{order}", order), values):
                    self._copied(one, put, key)
            except sqlite3.DatabaseError as error:
                if not _is_lost(error):
                    raise
            else:
                return

    def _copied(self, select: str, put: str, values: Sequence[object] = ()) -> bool:
        """Copy the rows; False if not all of them can be read."""
        try:
            self._fresh.executemany(put, self._old.execute(select, values))
        except sqlite3.DatabaseError as error:
            if not _is_lost(error):
                raise
            return False
        return True


def _open_somehow(path: Path, kept: Path) -> None:
    """Put a first page that knows the records in the place of a damaged one, or of one that knows no tables.

    They were the first table of every database, so they begin on the second page.
    """
    if _has_records(path):
        return
    with path.open("r+b") as file:
        before = file.read(PAGE)
        if len(before) < PAGE:
            raise _hopeless(path)
        _keep_copy(path, kept)
        file.seek(0)
        file.write(_first_page(path.stat().st_size // PAGE))
        file.flush()
        if not _has_records(path):
            file.seek(0)
            file.write(before)
            file.flush()
            _forget_copy(kept)
            raise _hopeless(path)


def _has_records(path: Path) -> bool:
    with closing(connected(path)) as connection:
        for order in ("ASC", "DESC"):
            try:
                sql = f"SELECT length(version) FROM record ORDER BY owner {order} LIMIT 1"  # noqa: S608
                return connection.execute(sql).fetchone() is not None
            except sqlite3.DatabaseError as error:
                if not _is_lost(error):
                    raise
    return False


def _is_lost(error: sqlite3.Error) -> bool:
    """True if the rows are damaged, or the list of tables is."""
    return is_damage(error) or str(error).startswith("no such table")


def _first_page(pages: int) -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in RECORDS:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        page = bytearray(connection.serialize()[:PAGE])
    page[18:20] = b"\2\2"  # a write-ahead log
    page[28:40] = pages.to_bytes(4, "big") + bytes(8)  # no free pages
    return bytes(page)


def _keep_copy(path: Path, kept: Path) -> None:
    for end in ("", "-wal"):
        source, copy = path.with_name(path.name + end), kept.with_name(kept.name + end)
        if source.exists() and source.stat().st_size and not copy.exists():
            try:
                shutil.copyfile(source, copy)
                copy.chmod(0o600)
                sync(copy)
            except OSError as error:
                copy.unlink(missing_ok=True)
                raise Unavailable(f"Cannot copy {source} ({error.strerror})", "Free some disk space") from error


def _forget_copy(kept: Path) -> None:
    for end in ("", "-wal"):
        kept.with_name(kept.name + end).unlink(missing_ok=True)


def _hopeless(path: Path) -> Misconfigured:
    return Misconfigured(
        f"{path} is damaged or is no Loci database: no record can be read",
        "Stop the servers that use it and try again. If that fails, restore it from a copy of the data folder",
    )
