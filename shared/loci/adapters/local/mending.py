"""Repairs a damaged database: copies its records into an empty one, whose pages replace the old ones.

A database in use must not be renamed. So the new pages replace the old ones in one transaction: a running server
sees either the old database or the new one, and so does a start after a crash.
"""

import os
import shutil
import sqlite3
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from loci.adapters.local.sqlite import connected, find_faults, is_damage, migrate, translate_error
from loci.adapters.local.write_locks import FolderWriteLocks
from loci.core.atomic_write import PRIVATE, hold, sync
from loci.core.errors import Misconfigured, Unavailable
from loci.core.identity import SYSTEM
from loci.core.ids import random_id
from loci.core.storage_keys import DAMAGED

HALF_MENDED: Final = " before"
"""The collection which marks that the indexes of all owners must be rebuilt."""
PATIENCE = 600.0
"""Seconds to wait for another process that repairs the same database."""
TEXT = "CAST(? AS TEXT)"
RECORDS = (
    "SELECT owner, kind, key, value, version, expires_at FROM record ORDER BY owner {order}, kind {order}, key {order}"
)
PUT_RECORD = f"INSERT OR IGNORE INTO record VALUES ({TEXT}, {TEXT}, ?, {TEXT}, {TEXT}, ?)"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Mended:
    """The outcome for a database that was damaged."""

    what: str
    is_whole: bool
    """False if some records could not be read. Then a copy of the damaged file is kept."""


def mend(path: Path) -> Mended | None:
    """Repair the database, with an empty index, and describe the outcome; None if it is not damaged.

    Raises `Misconfigured` if no record can be read: then only a backup helps.
    """
    with FolderWriteLocks(path.parent / "turns").take(SYSTEM, "mend the database", PATIENCE) as is_ours:
        if not is_ours:
            raise Unavailable(f"Another process repairs {path}", "Try again when it is done")
        faults = find_faults(path) if path.exists() else []
        return _mended(path, faults[0]) if faults else None


def _mended(path: Path, fault: str) -> Mended:
    scratch = path.with_name(f".{random_id()}")
    try:
        with ExitStack() as stack:
            # Locked, so that no starting server removes it as the temp file of a killed process.
            opener = partial(os.open, mode=PRIVATE)
            hold(stack.enter_context(open(scratch, "xb", opener=opener)).fileno())
            fresh = stack.enter_context(closing(sqlite3.connect(scratch, isolation_level=None)))
            fresh.execute("PRAGMA journal_mode = MEMORY")
            fresh.execute("BEGIN")
            migrate(fresh, path.parent)
            fresh.execute("COMMIT")
            # Reading from an attached database would make the fresh one unwritable at the first fault.
            old, damaged = (stack.enter_context(closing(connected(path))) for _ in range(2))
            old.text_factory = bytes  # a record that is not UTF-8 must not hide the others
            damaged.execute("PRAGMA synchronous = FULL")
            filling = _Filling(path, old, fresh)
            # The first step locks the damaged database and then calls `fill`, so that no write comes between.
            fresh.backup(damaged, pages=1, progress=filling.fill)
    except sqlite3.Error as error:
        raise (_unrecoverable(path) if is_damage(error) else translate_error(path, error)) from error
    finally:
        scratch.unlink(missing_ok=True)
    if filling.kept is None:
        return Mended(f"{path} was damaged ({fault}). All its records were kept", is_whole=True)
    what = f"{path} was damaged ({fault}), and some of its records could not be read. The damaged file is kept as"
    advice = "if you have a copy of the data folder, restore that"
    return Mended(f"{what} {filling.kept.name}: {advice}", is_whole=False)


def is_half_mended(path: Path) -> bool:
    """True until the indexes of all owners are rebuilt after a repair."""
    with closing(connected(path)) as connection:
        sql = "SELECT EXISTS (SELECT * FROM scope WHERE collection = ?)"
        return bool(connection.execute(sql, (HALF_MENDED,)).fetchone()[0])


def end_mending(path: Path) -> None:
    """Record that the indexes of all owners are rebuilt."""
    with closing(connected(path)) as connection, connection:
        connection.execute("DELETE FROM scope WHERE collection = ?", (HALF_MENDED,))


class _Filling:
    """Fills an empty database from the damaged one, once."""

    def __init__(self, path: Path, old: sqlite3.Connection, fresh: sqlite3.Connection) -> None:
        self._path = path
        self._old = old
        self._fresh = fresh
        self._is_filled = False
        self.kept: Path | None = None
        """The copy of the damaged file, if some records could not be read."""

    def fill(self, _status: int, _left: int, _every: int) -> None:
        if self._is_filled:
            return
        self._is_filled = True
        self._fresh.execute("BEGIN")
        # From the first record on; if a page is damaged, also from the last record backwards.
        if not self._copied("ASC"):
            self._copied("DESC")
            if not self._fresh.execute("SELECT EXISTS (SELECT * FROM record)").fetchone()[0]:
                raise _unrecoverable(self._path)
            self.kept = _copy_of(self._path)
        self._fresh.execute("INSERT INTO scope VALUES (0, '', ?, 0)", (HALF_MENDED,))
        # Caches of running servers know rows by their numbers, so no number is used twice. The first removal that is
        # recorded has a higher number than all that they have seen, so they read everything again.
        now = time.time_ns() // 1_000_000
        self._fresh.execute("DELETE FROM sqlite_sequence")
        self._fresh.executemany(
            "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)",
            [(table, now) for table in ("document", "chunk", "gone")],
        )
        self._fresh.execute("INSERT INTO gone (scope, chunk) VALUES (0, 0)")
        self._fresh.execute("UPDATE revision SET number = ?", (now,))
        self._fresh.execute("COMMIT")

    def _copied(self, order: str) -> bool:
        """Copy the records in this order; False if not all of them can be read."""
        try:
            self._fresh.executemany(PUT_RECORD, self._old.execute(RECORDS.replace("{order}", order)))
        except sqlite3.DatabaseError as error:
            if not (is_damage(error) or str(error).startswith("no such table")):
                raise
            return False
        return True


def _copy_of(path: Path) -> Path:
    """Keep a copy of the damaged file, with its log."""
    kept = path.with_name(f"{path.name}{DAMAGED}{time.time_ns() // 1_000_000}")
    for end in ("", "-wal"):
        source, copy = path.with_name(path.name + end), kept.with_name(kept.name + end)
        if source.exists() and source.stat().st_size:
            try:
                shutil.copyfile(source, copy)
                copy.chmod(PRIVATE)
                sync(copy)
            except OSError as error:
                copy.unlink(missing_ok=True)
                raise Unavailable(f"Cannot copy {source} ({error.strerror})", "Free some disk space") from error
    return kept


def _unrecoverable(path: Path) -> Misconfigured:
    return Misconfigured(
        f"{path} is damaged, or is not a Loci database: no record can be read",
        "Stop the servers that use it and try again. If that fails, restore it from a copy of the data folder",
    )
