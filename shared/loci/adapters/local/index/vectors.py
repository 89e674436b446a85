"""Keeps the vectors of collections in memory. Before each use it reads the changes from the database.

Of many it keeps only the codes: to read all vectors would take half a minute, and gigabytes.
"""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from loci.adapters.local.index.nearest import VectorRows, codes_apart
from loci.adapters.local.index.progress import progress, removed_since
from loci.adapters.local.index.vector_codes import WORD, code_bytes
from loci.search.inference import damaged_vectors, rows_of

if TYPE_CHECKING:
    from loci.adapters.local.index.nearest import Floats, Numbers, Words

AT_ONCE = 4096
MANY = 20_000
"""Passages of a collection, from which on a search compares the codes of all, and computes the cosines of the best."""
CODES = "SELECT number, document, code FROM code WHERE scope = ? AND model = ? AND number > ? ORDER BY number"
CODES_AND_VECTORS = (
    "SELECT number, document, code, (SELECT vector FROM vector WHERE vector.number = code.number)"
    " FROM code WHERE scope = ? AND model = ? AND number > ? ORDER BY number"
)


class MatrixKey(NamedTuple):
    """Identifies one matrix: the vectors of one model in one collection."""

    owner: str
    collection: str
    model: str
    dimensions: int


class VectorCache:
    """The matrices that were used last, in bounded memory. One alone may exceed the bound."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._matrices: OrderedDict[MatrixKey, _Matrix] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, connection: sqlite3.Connection, key: MatrixKey) -> VectorRows:
        """All vectors of the collection. Call it before any other read in the snapshot."""
        with self._lock:
            matrix = self._matrices.setdefault(key, _Matrix(key))
            self._matrices.move_to_end(key)
        # The snapshot begins with the first read, which happens under this lock. So no matrix is ever newer than the
        # snapshot that it is used with.
        with matrix.lock:
            matrix.refresh(connection)
            rows = matrix.shown()
        self._evict()
        return rows

    def _evict(self) -> None:
        with self._lock:
            held = sum(matrix.size for matrix in self._matrices.values())
            while held > self._most_bytes and len(self._matrices) > 1:
                _, matrix = self._matrices.popitem(last=False)
                held -= matrix.size


@dataclass(slots=True)
class _Matrix:
    """The vectors of one collection as growing arrays. Readers may keep slices: the rows they see never change."""

    key: MatrixKey
    lock: threading.Lock = field(default_factory=threading.Lock)
    last_chunk: int = 0
    last_gone: int = 0
    length: int = 0
    is_many: bool = False
    gone: "Numbers" = field(init=False)
    """The rows of removed chunks."""
    _room: "_Arrays" = field(init=False)
    """With free space at the end."""

    def __post_init__(self) -> None:
        self._clear()

    @property
    def size(self) -> int:
        return sum(array.nbytes for array in self._room)

    def shown(self) -> VectorRows:
        room, some = self._room, slice(self.length)
        rows = None if self.is_many else room.rows[some]
        return VectorRows(
            self.key.dimensions,
            room.numbers[some],
            room.documents[some],
            rows,
            room.signs[some].T,
            room.halves[some],
            self.gone,
        )

    def refresh(self, connection: sqlite3.Connection) -> None:
        """Load what is new and drop the vectors of removed chunks."""
        now = progress(connection)
        if (now.last_chunk, now.last_gone) == (self.last_chunk, self.last_gone):
            return
        if now.first_gone > self.last_gone + 1:  # the database no longer knows what was removed meanwhile
            self._clear()
        scope = connection.execute(
            "SELECT number, chunks FROM scope WHERE owner = ? AND collection = ?", (self.key.owner, self.key.collection)
        ).fetchone()
        if scope is not None:
            number, chunks = scope
            self._forget(removed_since(connection, number, self.last_gone))
            self.last_gone = now.last_gone
            if chunks >= MANY and not self.is_many:
                self.is_many = True
                self._make_room(self.length)
            for batch in self._newer(connection, number):
                self._append(batch)
                self.last_chunk = int(
                    batch.numbers[-1]
                )  # the next batch may be damaged: the next call goes on from here
        self.last_chunk, self.last_gone = now.last_chunk, now.last_gone

    def _newer(self, connection: sqlite3.Connection, scope: int) -> "Iterator[_Arrays]":
        import numpy as np

        dimensions = self.key.dimensions
        sql = CODES if self.is_many else CODES_AND_VECTORS
        cursor = connection.execute(sql, (scope, self.key.model, self.last_chunk))
        while found := cursor.fetchmany(AT_ONCE):
            numbers, documents, codes, *vectors = zip(*found, strict=True)
            apart = codes_apart(codes, dimensions)
            rows = rows_of(vectors[0], dimensions) if vectors else self._room.rows[:0]
            if apart is None or rows is None:
                raise damaged_vectors()
            yield _Arrays(np.array(numbers, np.int64), np.array(documents, np.int64), *apart, rows)

    def _append(self, batch: "_Arrays") -> None:
        start, end = self.length, self.length + len(batch.numbers)
        if end > len(self._room.numbers):
            self._make_room(max(end, 2 * start) if start else end)
        for array, new in zip(self._room, batch, strict=True):
            if len(array):  # many have no rows
                array[start:end] = new
        self.length = end

    def _forget(self, removed: list[int]) -> None:
        import numpy as np

        if not removed:
            return
        [places] = np.nonzero(np.isin(self._room.numbers[: self.length], np.array(removed, np.int64)))
        self.gone = np.concatenate([self.gone, places])
        if len(self.gone) > self.length / 4:
            kept = np.delete(np.arange(self.length), self.gone)
            self._make_room(len(kept), kept)
            self.length, self.gone = len(kept), np.zeros(0, np.int64)

    def _make_room(self, size: int, kept: "Numbers | None" = None) -> None:
        """Move the kept rows, or all, into new arrays. Readers may still use the old ones."""
        room = self._empty(size)
        for array, old in zip(room, self._room, strict=True):
            if len(array):
                moved = old[: self.length] if kept is None else old[kept]
                array[: len(moved)] = moved
        self._room = room

    def _clear(self) -> None:
        import numpy as np

        self.last_chunk = self.last_gone = self.length = 0
        self.is_many, self.gone = False, np.zeros(0, np.int64)
        self._room = self._empty(0)

    def _empty(self, size: int) -> "_Arrays":
        import numpy as np

        dimensions = self.key.dimensions
        words = code_bytes(dimensions) // 2 // WORD
        return _Arrays(
            np.empty(size, np.int64),
            np.empty(size, np.int64),
            # One column of signs after the other in memory, although each row is one vector's, as in the others.
            np.empty((words, size), np.uint64).T,
            np.empty((size, words), np.uint64),
            np.empty((0 if self.is_many else size, dimensions), np.float32),
        )


class _Arrays(NamedTuple):
    """The same passages in each."""

    numbers: "Numbers"
    documents: "Numbers"
    signs: "Words"
    halves: "Words"
    rows: "Floats"
    """None, if they are many."""
