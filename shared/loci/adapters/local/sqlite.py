"""One SQLite file in WAL mode: its connections, its migrations, its check."""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from loci.adapters.local.coding import code_some
from loci.adapters.local.migrations import MIGRATIONS
from loci.core.errors import Misconfigured, Unavailable
from loci.core.fair_queue import FairQueues
from loci.core.finding import size_shown

MAPPED = 64 * 1024**2
"""Bytes of the file that are mapped into memory. Without the mapping each page costs a system call. What searches have
read of it counts as memory of the process: if all were mapped, it would grow to the size of the file."""
LOG_PAGES = 4_000
"""Pages that the log keeps before they move into the file (16 MB): an ingestion changes the same ones often."""
WAIT = 30
"""Seconds that a write waits for others."""
MOST_FAULTS = 3
"""Faults that a check looks for before it stops."""


class Database:
    """Connections to one file, one for each thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._writers = FairQueues()
        with suppress(OSError):  # SQLite has the better error message
            # Before the first connection: SQLite gives the files that it puts beside it the same permissions.
            path.touch(mode=0o600)
            path.chmod(0o600)
        with self.read() as connection:
            current = connection.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
        if not current:  # so that a full disk can still be read
            with self.write() as connection:
                migrate(connection)
        while self._code_some():
            pass

    def _code_some(self) -> bool:
        with self.read() as connection:
            if not connection.execute("SELECT EXISTS (SELECT * FROM uncoded)").fetchone()[0]:
                return False
        with self.write() as connection:
            return code_some(connection)

    @contextmanager
    def read(self) -> Generator["_Connection", None, None]:
        """A connection. Turns the errors of SQLite into `LociError`s."""
        try:
            yield self._connection()
        except sqlite3.Error as error:
            raise explained(self._path, error) from error

    @contextmanager
    def snapshot(self) -> Generator[sqlite3.Connection, None, None]:
        """A connection whose reads all see the database as the first of them does."""
        if self._is_together:
            yield self._connection()
            return
        with self.read() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def write(self, *, durable: bool = True) -> Generator[sqlite3.Connection, None, None]:
        """A connection in a transaction that holds the write lock from the start.

        The threads of this process queue for it: SQLite lets them try again at random, and some would wait for seconds.
        """
        if self._is_together:
            yield self._connection()
            return
        with self._writers.turn("write", WAIT) as is_first, self.read() as connection:
            if not is_first:
                raise Unavailable("The local database did not answer (others keep writing)", "Try again")
            connection.sync(durable=durable)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # if the disk is full, SQLite has already rolled back
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def together(self) -> Generator[None, None, None]:
        """One transaction for all writes of this thread: many small ones cost several times as much.

        A write inside must raise before it changes anything, or the error must end the whole.
        """
        with self.write():
            self._local.together = True
            try:
                yield
            finally:
                self._local.together = False

    @property
    def _is_together(self) -> bool:
        return getattr(self._local, "together", False)

    def _connection(self) -> "_Connection":
        connection: _Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self._path, timeout=WAIT, isolation_level=None, check_same_thread=False, factory=_Connection
            )
            _write_ahead(connection)
            connection.execute(f"PRAGMA mmap_size = {MAPPED}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            self._local.connection = connection
        return connection


class _Connection(sqlite3.Connection):
    """Closes itself when its thread ends: Python 3.13 warns about connections that nobody closed."""

    durable: bool | None = None

    def sync(self, *, durable: bool) -> None:
        """Set whether the next writes survive a power cut (FULL), or only a killed process."""
        if self.durable is not durable:
            self.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self.durable = durable

    def __del__(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # the file could not be opened
            self.close()


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL. If two first connections do so at once, SQLite refuses one at once."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY:
                raise
            connection.execute("BEGIN IMMEDIATE")  # waits for the lock, or raises at the timeout
            connection.execute("ROLLBACK")


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to this version of Loci, inside the caller's transaction."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    refuse_newer(version)
    for steps in MIGRATIONS[version:]:
        for step in steps:
            _ = connection.execute(step) if isinstance(step, str) else step(connection)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def refuse_newer(version: int) -> None:
    """Raise `Misconfigured` if a newer version of Loci wrote the file: its rows may mean something else."""
    if version > len(MIGRATIONS):
        raise Misconfigured(
            "The data folder was written by a newer Loci", "Upgrade Loci, or choose another folder with --data DIR"
        )


def check_file(path: Path) -> str | None:
    """Read every page of the file and describe it; None if there is no file. Creates and changes no table."""
    if not path.exists():
        return None
    try:
        # `rw`: with `ro` SQLite cannot use the write-ahead log that a killed process left behind.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=30)) as connection:
            [version] = connection.execute("PRAGMA user_version").fetchone()
            faults = [fault for [fault] in connection.execute(f"PRAGMA quick_check({MOST_FAULTS})")]
    except sqlite3.Error as error:
        raise explained(path, error) from error
    if faults != ["ok"]:
        raise Misconfigured(f"{path} is damaged ({faults[0]})", "Restore it from a copy")
    refuse_newer(version)
    return f"{path}, {size_shown(_size(path))}, whole, version {version}"


def _size(path: Path) -> int:
    """The bytes of the file and of its write-ahead log, which may hold most of what was written."""
    size = path.stat().st_size
    with suppress(FileNotFoundError):  # whoever closes the file last removes its log
        size += path.with_name(f"{path.name}-wal").stat().st_size
    return size


def explained(path: Path, error: sqlite3.Error) -> Unavailable | Misconfigured:
    """The error of SQLite as one of ours."""
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


def _code(error: sqlite3.Error) -> int:
    """The primary result code, without the details in its upper bits."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
