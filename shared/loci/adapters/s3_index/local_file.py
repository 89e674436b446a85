"""The SQLite index of one owner, in a file that is deleted after its last use."""

import sqlite3
import weakref
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.local.index.writes import put_chunks, remove_chunks
from loci.adapters.local.sqlite import Database
from loci.adapters.s3_index.changes import IndexChange
from loci.core.errors import LociError
from loci.core.identity import Owner

SECTOR = 512
"""The unit of `st_blocks`. The size would count free pages, too, which are holes in a file that was fetched."""
WORD_MEMORY = 16 * 1024**2
"""Bytes: an index in a bucket has few passages, and a function little memory."""
BESIDE = ("", "-wal", "-shm")


class LocalFile:
    """An index on this machine. Searches may use it while one thread at a time writes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._database = Database(path)
        except LociError:  # a full disk
            _delete(path)
            raise
        self.index = SqliteIndex(self._database, WORD_MEMORY)
        # A search that still uses the index keeps it, and so the file.
        weakref.finalize(self.index, _delete, path)

    def write(self, owner: Owner, changes: Sequence[IndexChange], publish: Callable[[int, int], None]) -> bool:
        """Make the changes, call `publish` with the passages before and after them, and keep them if it returns.

        False if they change nothing. Then `publish` is not called.
        """
        with self._database.write(durable=False) as connection:
            before = _passages(connection)
            done = [_make(connection, owner, change) for change in changes]
            if any(done):
                publish(before, _passages(connection))
        return any(done)

    def passages(self) -> int:
        """The number of passages of all collections."""
        with self._database.read() as connection:
            return _passages(connection)

    def whole(self) -> Path:
        """The file with everything that was written to it. It must not be written until it has been read."""
        with self._database.read() as connection:
            [is_busy, *_] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not is_busy:
                return self._path
            copy = self._path.with_suffix(".copy")  # a search is reading: the write-ahead log cannot be emptied now
            copy.unlink(missing_ok=True)
            with closing(sqlite3.connect(copy)) as target:
                connection.backup(target)  # page by page, so that equal blocks stay equal
            return copy

    def bytes(self) -> int:
        """The room that it takes on the disk."""
        with suppress(FileNotFoundError):  # the last connection is just being closed
            return sum(file.stat().st_blocks * SECTOR for file in _files(self._path))
        return 0


def _make(connection: sqlite3.Connection, owner: Owner, change: IndexChange) -> bool:
    if not change.chunks:
        return remove_chunks(connection, owner, change.collection, change.document)
    put_chunks(connection, owner, change.collection, change.document, change.chunks, change.tags_and_date)
    return True


def _passages(connection: sqlite3.Connection) -> int:
    [count] = connection.execute("SELECT coalesce(sum(chunks), 0) FROM scope").fetchone()
    return count


def _files(path: Path) -> list[Path]:
    return [file for end in BESIDE if (file := Path(f"{path}{end}")).exists()]


def _delete(path: Path) -> None:
    for file in (*_files(path), path.with_suffix(".copy")):
        file.unlink(missing_ok=True)
