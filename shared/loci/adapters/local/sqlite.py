"""One SQLite file in WAL mode: connections and migrations."""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from loci.adapters.local.migrations import MIGRATIONS
from loci.core.errors import Misconfigured, Unavailable

MAPPED = 4 * 1024**3
"""Bytes of the file that are read as memory: each page that is copied costs a call of the system."""


class Database:
    """Connections to one file, one a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        with suppress(OSError):  # SQLite says better why it cannot use the file
            # Before the first connection: the files that SQLite puts beside it get the same permissions.
            path.touch(mode=0o600)
            path.chmod(0o600)
        with self.read() as connection:
            current = connection.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
        if not current:  # a full disk can still be read
            with self.write() as connection:
                migrate(connection)

    @contextmanager
    def read(self) -> Generator["_Connection", None, None]:
        """A connection; what SQLite complains about becomes `Unavailable`."""
        try:
            yield self._connection()
        except sqlite3.Error as error:
            raise explained(self._path, error) from error

    @contextmanager
    def snapshot(self) -> Generator[sqlite3.Connection, None, None]:
        """A connection whose reads all see what the first of them sees."""
        with self.read() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def write(self, *, durable: bool = True) -> Generator[sqlite3.Connection, None, None]:
        """A connection inside a transaction that holds the write lock from its start."""
        with self.read() as connection:
            connection.sync(durable=durable)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # where the disk is full, SQLite has already undone it
                    connection.execute("ROLLBACK")
                raise

    def _connection(self) -> "_Connection":
        connection: _Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self._path, timeout=30, isolation_level=None, check_same_thread=False, factory=_Connection
            )
            _write_ahead(connection)
            connection.execute(f"PRAGMA mmap_size = {MAPPED}")
            self._local.connection = connection
        return connection


class _Connection(sqlite3.Connection):
    """Closed when its thread ends: Python 3.13 warns of one that is only forgotten."""

    durable: bool | None = None

    def sync(self, *, durable: bool) -> None:
        """FULL: an acknowledged write survives a power cut, not only a killed process."""
        if self.durable is not durable:
            self.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self.durable = durable

    def __del__(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # where the file could not be opened
            self.close()


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL. Of two first connections SQLite refuses one at once here, whatever its timeout."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY:
                raise
            connection.execute("BEGIN IMMEDIATE")  # waits for its turn, or raises at the timeout
            connection.execute("ROLLBACK")


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to this version of Loci, inside the caller's transaction."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    refuse_newer(version)
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def refuse_newer(version: int) -> None:
    """What a later version of Loci has written may mean something else there."""
    if version > len(MIGRATIONS):
        raise Misconfigured(
            "The data folder was written by a newer Loci", "Upgrade Loci, or choose another folder with --data DIR"
        )


def _code(error: sqlite3.Error) -> int:
    """The primary code: the details are in the bits above it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def explained(path: Path, error: sqlite3.Error) -> Unavailable | Misconfigured:
    """What SQLite complains about, and what to do."""
    match _code(error):
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return Misconfigured(
                f"{path} is damaged or is no Loci database ({error})",
                "Restore it from a copy, or choose another folder with --data DIR",
            )
        case sqlite3.SQLITE_FULL:
            return Unavailable(f"No space is left for {path}", "Free some disk space, then try again")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN:
            return Misconfigured(f"Cannot write {path} ({error})", "Choose another folder with --data DIR or LOCI_DATA")
        case _:
            return Unavailable(f"The local database did not answer ({error})", "Try again")
