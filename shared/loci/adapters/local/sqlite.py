"""The SQLite file in WAL mode: its connections, its migrations, and the check for damage."""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from shutil import disk_usage

from loci.adapters.local.data_folder import Reserve
from loci.adapters.local.migrations import DOCUMENT_INDEX, FIRST, MIGRATIONS, RECORDS, VERSION, convert
from loci.core.background import FairQueues
from loci.core.diagnosis import size_shown
from loci.core.errors import Damaged, LociError, Misconfigured, Unavailable
from loci.core.full_disk import no_space

MAPPED = 64 * 1024**2
"""Bytes of the file that are mapped into memory. Without the mapping each page costs a system call. Mapped pages that
were read count as memory of the process: if all were mapped, it would grow to the size of the file."""
LOG_PAGES = 4_000
"""Pages of the log before they move into the file (16 MB): an ingestion often changes the same pages."""
WAIT = 30
"""Seconds that a write waits for others."""
UNWRITTEN = (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP)
"""SQLite's codes for an exhausted quota, and for a full disk when it opens a file."""
MOST_FAULTS = 3
"""The most faults that a check reports before it stops."""


class Database:
    """Connections to one file, one for each thread."""

    def __init__(self, path: Path, reserve: Reserve | None = None) -> None:
        self._path = path
        self._reserve = reserve
        if reserve:
            reserve.tidy = self._empty_log
        refuse_lost(path)
        self._local = threading.local()
        self._writers = FairQueues()
        with suppress(OSError):  # SQLite has the better error message
            # Before the first connection: SQLite gives the files that it puts beside it the same permissions.
            path.touch(mode=0o600)
            path.chmod(0o600)
        with self.read() as connection:
            current = connection.execute("PRAGMA user_version").fetchone()[0] == VERSION
        if not current:  # so that a full disk can still be read
            with self.write() as connection:
                migrate(connection, path.parent)

    @contextmanager
    def read(self) -> Generator["_Connection", None, None]:
        """A connection. Turns the errors of SQLite into `LociError`s."""
        try:
            yield self._connection()
        except sqlite3.Error as error:
            raise translate_error(self._path, error) from error

    @contextmanager
    def snapshot(self) -> Generator[sqlite3.Connection, None, None]:
        """A connection whose reads all see the same state of the database."""
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

        The threads of this process queue for it. SQLite lets them retry at random, so that some would wait for seconds.
        """
        if self._is_together:
            yield self._connection()  # `together` explains its errors
            return
        with self._writers.turn("write", WAIT) as is_first, self.read() as connection:
            if not is_first:
                raise Unavailable("The local database did not answer (others keep writing)", "Try again")
            is_short = self._reserve is not None and self._reserve.before_write()
            connection.move_log(of_itself=not is_short)
            if is_short:  # as it is, the log would take what was kept for this
                self._empty_log()
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
        """Join all writes of this thread in one transaction: many small ones cost several times as much.

        A write inside must raise before it changes anything, or its error must end the transaction.
        """
        with self.write():
            self._local.together = True
            try:
                yield
            finally:
                self._local.together = False

    def rewrite(self) -> None:
        """Write the file anew, without the bytes of deleted rows. For a while this takes as much disk space again."""
        with self.read() as connection:
            connection.execute("VACUUM")
        self._empty_log()

    def _empty_log(self) -> None:
        """Move the log into the file and free its disk space, unless somebody is reading."""
        with suppress(LociError, OSError), self.read() as connection:
            size = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
            if size.fetchone()[0] - self._path.stat().st_size > disk_usage(self._path.parent).free:
                return  # it would fail in the middle, and the space be gone
            connection.execute("PRAGMA busy_timeout = 0")
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                connection.execute(f"PRAGMA busy_timeout = {WAIT * 1000}")

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
            self._local.connection = connection
        return connection


class _Connection(sqlite3.Connection):
    """Closes itself when its thread ends, because Python 3.13 warns about connections that were not closed."""

    durable: bool | None = None
    moves_log: bool | None = None

    def move_log(self, *, of_itself: bool) -> None:
        """Set whether a long log moves into the file after a write. Without room for that, it must not begin."""
        if self.moves_log is not of_itself:
            self.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES if of_itself else 0}")
            self.moves_log = of_itself

    def sync(self, *, durable: bool) -> None:
        """Set whether the next writes survive a power cut (FULL), or only a killed process."""
        if self.durable is not durable:
            self.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self.durable = durable

    def __del__(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # the file could not be opened
            self.close()


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL. If two first connections do so together, SQLite refuses one of them immediately."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY:
                raise
            connection.execute("BEGIN IMMEDIATE")  # waits for the lock, or raises at the timeout
            connection.execute("ROLLBACK")


def migrate(connection: sqlite3.Connection, folder: Path) -> None:
    """Bring the tables up to this version of Loci, inside the caller's transaction."""
    [version] = connection.execute("PRAGMA user_version").fetchone()
    refuse_newer(version)
    steps = [*MIGRATIONS[max(0, version - FIRST) :]]
    if version == 0:
        steps = [RECORDS, DOCUMENT_INDEX, *steps]
    elif version < FIRST:
        convert(connection, folder)
    for statement in (one for statements in steps for one in statements):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def refuse_newer(version: int) -> None:
    """Raise `Misconfigured` if a newer version of Loci wrote the file, since its rows may mean something else."""
    if version > VERSION:
        raise Misconfigured(
            "The data folder was written by a newer Loci", "Upgrade Loci, or choose another folder with --data DIR"
        )


def refuse_lost(path: Path) -> None:
    """Raise `Misconfigured` if the file is gone or empty, but texts exist: a new one would not know them."""
    files = [path, path.with_name(f"{path.name}-wal")]
    if not any(one.exists() and one.stat().st_size for one in files) and any(path.parent.glob("blobs/**/*@")):
        raise Misconfigured(
            f"{path} is gone or empty, but there are texts or files of Loci beside it",
            f"Restore it from a copy. To start again without them, move {path.parent / 'blobs'} away",
        )


def check_file(path: Path) -> str | None:
    """Read every page of the file and describe it; None if there is no file. Creates and changes no table."""
    refuse_lost(path)
    if not path.exists():
        return None
    if faults := find_faults(path):
        raise Misconfigured(f"{path} is damaged ({faults[0]})", "To rebuild it, run: loci doctor --fix")
    with closing(connected(path)) as connection:
        [version] = connection.execute("PRAGMA user_version").fetchone()
    return f"{path}, {size_shown(_size(path))}, whole, version {version}"


def find_faults(path: Path) -> list[str]:
    """The first faults of the file, or an empty list if every page and the words of the index are intact."""
    try:
        with closing(connected(path)) as connection:
            [version] = connection.execute("PRAGMA user_version").fetchone()
            refuse_newer(version)
            faults = [fault for [fault] in connection.execute(f"PRAGMA quick_check({MOST_FAULTS})")]
            if faults != ["ok"]:
                return [line for one in faults for line in one.split("\n") if not line.startswith("***")]
            tables = dict(connection.execute("SELECT name, sql FROM sqlite_master"))
            if version == VERSION and "revision" not in tables:
                return ["tables are missing"]
            for table in [name for name, sql in tables.items() if sql and " USING fts5 (" in sql]:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")  # noqa: S608
                connection.execute("ROLLBACK")
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return [str(error)]
        raise translate_error(path, error) from error
    return []


def connected(path: Path) -> sqlite3.Connection:
    """A connection to the file, which must exist."""
    # `rw`: with `ro` SQLite cannot use the write-ahead log that a killed process left behind.
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=WAIT, isolation_level=None)


def _size(path: Path) -> int:
    """The bytes of the file and of its write-ahead log, which may hold most of what was written."""
    size = path.stat().st_size
    with suppress(FileNotFoundError):  # whoever closes the file last removes its log
        size += path.with_name(f"{path.name}-wal").stat().st_size
    return size


def is_damage(error: sqlite3.Error) -> bool:
    """True if the content of the file is damaged."""
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def translate_error(path: Path, error: sqlite3.Error) -> Unavailable | Misconfigured:
    """The `LociError` for an error of SQLite."""
    match _code(error):
        case sqlite3.SQLITE_CORRUPT:
            return Damaged(
                f"A part of {path} is damaged ({error})", "No text is lost. To rebuild the index, run: loci reindex"
            )
        case sqlite3.SQLITE_NOTADB:
            return Misconfigured(
                f"{path} is damaged, or is not a Loci database ({error})",
                "Run: loci doctor --fix. Or restore it from a copy, or choose another folder with --data DIR",
            )
        case sqlite3.SQLITE_FULL:
            return no_space(path, str(error))
        case sqlite3.SQLITE_IOERR if getattr(error, "sqlite_errorcode", 0) in UNWRITTEN:
            return no_space(path, f"{error}: its disk may be full, or broken")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN:
            return Misconfigured(f"Cannot write {path} ({error})", "Choose another folder with --data DIR or LOCI_DATA")
        case _:
            return Unavailable(f"The local database did not answer ({error})", "Try again")


def _code(error: sqlite3.Error) -> int:
    """The primary result code, without the details in its upper bits."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
