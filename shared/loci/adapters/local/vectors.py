"""Keeps the vectors of collections in memory. Before each use it reads the changes from the database."""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from loci.search.inference import damaged_vectors, rows_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]
    Signs = NDArray[np.uint64]

AT_ONCE = 4096
NOWHERE = -9.0
"""The value of removed chunks. Every cosine is greater."""
SAME = 1e-6
"""The cosines of equal vectors in two rows may differ by this much."""
MANY = 20_000
"""From so many vectors on, a search compares the signs of all, and computes the cosines of the best only."""
LEAST_READ = 2_000
SHARE_READ = 50
"""The cosines that are computed: one in so many vectors. On vectors of MiniLM that finds .997 of the nearest 50 among
100,000, in a fifth of the time."""


class MatrixKey(NamedTuple):
    """Identifies one matrix: the vectors of one model in one collection."""

    owner: str
    collection: str
    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Cosines:
    """The cosine of each chunk of a collection with a question's vector."""

    numbers: "Numbers"
    documents: "Numbers"
    rows: "Floats"
    vector: "Floats"
    nearness: "NDArray[np.float32 | np.int16]"
    """The cosines, or, of many, the numbers of equal signs; `NOWHERE` for removed chunks."""

    def nearest(self, limit: int, among: Sequence[int] | None, chunks: Sequence[int] | None = None) -> dict[int, float]:
        """The `limit` nearest chunks by number, and all as near as the last of them.

        Only in the documents `among`, and only of these `chunks`, if they are given. Of many, some may be missing.
        """
        import numpy as np

        near = self.nearness
        for numbers, wanted in ((self.documents, among), (self.numbers, chunks)):
            if wanted is not None:
                near = np.where(np.isin(numbers, np.array(wanted, np.int64)), near, near.dtype.type(NOWHERE))
        if limit < 1 or not len(near):
            return {}
        if near.dtype == np.float32:
            return self._exact(_best(near, limit, SAME))
        rows = _best(near, max(limit, LEAST_READ, len(near) // SHARE_READ), 0)
        return self._exact(rows[_best(self._cosines(rows), limit, SAME)])

    def of(self, numbers: Sequence[int]) -> dict[int, float]:
        """The cosines of these chunks, by number. Leaves out those without a vector."""
        import numpy as np

        if not len(self.numbers):
            return {}
        wanted = np.array(numbers, np.int64)
        rows = np.searchsorted(self.numbers, wanted).clip(max=len(self.numbers) - 1)
        return self._exact(rows[(self.numbers[rows] == wanted) & (self.nearness[rows] > NOWHERE)])

    def _exact(self, rows: "Numbers") -> dict[int, float]:
        values = self._cosines(rows)
        return {int(number): round(float(value), 6) for number, value in zip(self.numbers[rows], values, strict=True)}

    def _cosines(self, rows: "Numbers") -> "Floats":
        """Adds up each row in the same order, so that equal vectors have equal cosines."""
        import numpy as np

        return np.einsum("ij,j->i", self.rows[rows], self.vector)


def _best(values: "NDArray[np.float32 | np.int16]", limit: int, same: float) -> "Numbers":
    """The places of the `limit` greatest values, and of all that are the same as the last of them."""
    import numpy as np

    if not len(values):
        return np.zeros(0, np.int64)
    last = np.partition(values, -limit)[-limit] if limit < len(values) else values.min()
    return np.nonzero((values >= last - same) & (values > NOWHERE))[0]


@dataclass(frozen=True, slots=True)
class VectorRows:
    """The vectors of a collection at one moment."""

    numbers: "Numbers"
    documents: "Numbers"
    rows: "Floats"
    signs: "Signs"
    gone: "Numbers"

    def against(self, vector: bytes) -> Cosines:
        """The cosines with the vector. Uses no connection, so it can run in another thread."""
        import numpy as np

        query = np.frombuffer(vector, "<f4")
        if len(self.rows) < MANY:
            # Not `@`: it is as fast, but afterwards the threads of BLAS spin on the cores that FTS5 needs.
            near = np.vecdot(self.rows, query)
        else:
            near = np.full(len(self.rows), self.rows.shape[1], np.int16)
            for column, [word] in zip(self.signs, _signs(query[None]), strict=True):
                near -= np.bitwise_count(column ^ word)
        near[self.gone] = NOWHERE
        return Cosines(self.numbers, self.documents, self.rows, query, near)


def _signs(rows: "Floats") -> "Signs":
    """The signs of 64 dimensions in each word, a row of words for each 64: they are read one after the other."""
    import numpy as np

    packed = np.packbits(rows > 0, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64).T


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
            rows = VectorRows(matrix.numbers, matrix.documents, matrix.rows, matrix.signs, matrix.gone)
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
    numbers: "Numbers" = field(init=False)
    documents: "Numbers" = field(init=False)
    rows: "Floats" = field(init=False)
    signs: "Signs" = field(init=False)
    gone: "Numbers" = field(init=False)
    """The rows of removed chunks."""
    _room: "tuple[Numbers, Numbers, Floats, Signs]" = field(init=False)
    """The same arrays with free space at the end."""

    def __post_init__(self) -> None:
        self._clear()

    @property
    def size(self) -> int:
        return sum(array.nbytes for array in self._room)

    def refresh(self, connection: sqlite3.Connection) -> None:
        """Load the new vectors and drop those of removed chunks."""
        last_chunk, first_gone, last_gone = connection.execute(
            "SELECT coalesce((SELECT max(number) FROM chunk), 0), coalesce((SELECT min(number) FROM gone), 0),"
            " coalesce((SELECT max(number) FROM gone), 0)"
        ).fetchone()
        if (last_chunk, last_gone) == (self.last_chunk, self.last_gone):
            return
        if first_gone > self.last_gone + 1:  # the database no longer knows what was removed meanwhile
            self._clear()
        scope = connection.execute(
            "SELECT number FROM scope WHERE owner = ? AND collection = ?", (self.key.owner, self.key.collection)
        ).fetchone()
        if scope is not None:
            self._forget(connection, *scope)
            self.last_gone = last_gone
            for numbers, documents, rows in self._newer(connection, *scope):
                self._append(numbers, documents, rows)
                self.last_chunk = numbers[-1]  # the next batch may be damaged: the next call goes on from here
        self.last_chunk, self.last_gone = last_chunk, last_gone

    def _newer(self, connection: sqlite3.Connection, scope: int) -> Iterator[tuple[list[int], list[int], "Floats"]]:
        dimensions = self.key.dimensions
        cursor = connection.execute(
            "SELECT number, document, vector FROM chunk WHERE scope = ? AND model = ? AND number > ? ORDER BY number",
            (scope, self.key.model, self.last_chunk),
        )
        while found := cursor.fetchmany(AT_ONCE):
            numbers, documents, vectors = zip(*found, strict=True)
            rows = rows_of(vectors, dimensions)
            if rows is None:
                raise damaged_vectors()
            yield list(numbers), list(documents), rows

    def _append(self, numbers: list[int], documents: list[int], rows: "Floats") -> None:
        import numpy as np

        start = len(self.numbers)
        end = start + len(numbers)
        if end > len(self._room[0]):
            self._make_room(max(end, 2 * start) if start else end, np.arange(start))
        for array, new in zip(self._room, (numbers, documents, rows, _signs(rows).T), strict=True):
            array[start:end] = new
        self._show(end)

    def _forget(self, connection: sqlite3.Connection, scope: int) -> None:
        import numpy as np

        found = connection.execute(
            "SELECT chunk FROM gone WHERE scope = ? AND number > ?", (scope, self.last_gone)
        ).fetchall()
        if not found:
            return
        [rows] = np.nonzero(np.isin(self.numbers, np.array(found, np.int64)))
        self.gone = np.concatenate([self.gone, rows])
        if len(self.gone) > len(self.numbers) / 4:
            kept = np.delete(np.arange(len(self.numbers)), self.gone)
            self._make_room(len(kept), kept)
            self._show(len(kept))
            self.gone = np.zeros(0, np.int64)

    def _make_room(self, size: int, kept: "Numbers") -> None:
        """Move the kept rows into new arrays. Readers may still use the old ones."""

        shown = self.numbers, self.documents, self.rows, self.signs.T
        room = self._empty(size)
        for array, old in zip(room, shown, strict=True):
            array[: len(kept)] = old[kept]
        self._room = room

    def _show(self, length: int) -> None:
        numbers, documents, rows, signs = self._room
        self.numbers, self.documents, self.rows = numbers[:length], documents[:length], rows[:length]
        self.signs = signs[:length].T

    def _clear(self) -> None:
        import numpy as np

        self.last_chunk = self.last_gone = 0
        self.gone = np.zeros(0, np.int64)
        self._room = self._empty(0)
        self._show(0)

    def _empty(self, size: int) -> "tuple[Numbers, Numbers, Floats, Signs]":
        import numpy as np

        dimensions = self.key.dimensions
        # One column of signs after the other in memory, although each row is one vector's, as in the others.
        signs = np.empty((-(-dimensions // 64), size), np.uint64).T
        return np.empty(size, np.int64), np.empty(size, np.int64), np.empty((size, dimensions), np.float32), signs
