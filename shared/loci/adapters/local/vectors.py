"""The vectors of a collection in memory: a cache of the database, brought up to date by what has changed since."""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from loci.search.document_index import damaged_vectors
from loci.search.soundness import rows_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]

AT_ONCE = 4096
NOWHERE = -9.0
"""Less than every cosine."""
SAME = 1e-6
"""By so much two results may differ for one vector in two rows."""


class Key(NamedTuple):
    """What one matrix is about."""

    owner: str
    collection: str
    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Cosines:
    """How near each chunk of a collection is to a vector."""

    numbers: "Numbers"
    documents: "Numbers"
    rows: "Floats"
    vector: "Floats"
    values: "Floats"
    """`NOWHERE` for chunks that have gone."""

    def nearest(self, limit: int, among: Sequence[int] | None) -> dict[int, float]:
        """The `limit` nearest by number, and all that are as near as the last; of those documents only."""
        import numpy as np

        values = self.values
        if among is not None:
            values = np.where(np.isin(self.documents, np.array(among, np.int64)), values, np.float32(NOWHERE))
        if limit < 1 or not len(values):
            return {}
        last = np.partition(values, -limit)[-limit] if limit < len(values) else values.min()
        [rows] = np.nonzero((values >= last - SAME) & (values > NOWHERE))
        return self._exact(rows)

    def of(self, numbers: Sequence[int]) -> dict[int, float]:
        """By number; without those that have no vector."""
        import numpy as np

        if not len(self.numbers):
            return {}
        rows = np.searchsorted(self.numbers, np.array(numbers, np.int64)).clip(max=len(self.numbers) - 1)
        return self._exact(rows[np.isin(self.numbers[rows], numbers) & (self.values[rows] > NOWHERE)])

    def _exact(self, rows: "Numbers") -> dict[int, float]:
        """Added up in one order for each row, so that equal vectors have equal cosines."""
        import numpy as np

        values = np.einsum("ij,j->i", self.rows[rows], self.vector)
        return {int(number): round(float(value), 6) for number, value in zip(self.numbers[rows], values, strict=True)}


@dataclass(frozen=True, slots=True)
class VectorRows:
    """The vectors of a collection at one moment."""

    numbers: "Numbers"
    documents: "Numbers"
    rows: "Floats"
    gone: "Numbers"

    def against(self, vector: bytes) -> Cosines:
        """Needs no connection, and may run beside one that is used."""
        import numpy as np

        asked = np.frombuffer(vector, "<f4")
        # Not `@`: as fast alone, but the threads of BLAS wait busily afterwards, on the cores that the words need.
        values = np.vecdot(self.rows, asked)
        values[self.gone] = NOWHERE
        return Cosines(self.numbers, self.documents, self.rows, asked, values)


class Vectors:
    """The matrices that were used last, in a bounded memory (the one in use may be larger)."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._matrices: OrderedDict[Key, _Matrix] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, connection: sqlite3.Connection, key: Key) -> "VectorRows":
        """All vectors there are. It must be the first to read in a snapshot, so that it sees the same."""
        with self._lock:
            matrix = self._matrices.setdefault(key, _Matrix(key))
            self._matrices.move_to_end(key)
        # The lock orders snapshots: no matrix is ever ahead of the snapshot that it is read with.
        with matrix.lock:
            matrix.refresh(connection)
            rows = VectorRows(matrix.numbers, matrix.documents, matrix.rows, matrix.gone)
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
    """Arrays of one length that readers may keep: what they have seen of them is never changed."""

    key: Key
    lock: threading.Lock = field(default_factory=threading.Lock)
    last_chunk: int = 0
    last_gone: int = 0
    numbers: "Numbers" = field(init=False)
    documents: "Numbers" = field(init=False)
    rows: "Floats" = field(init=False)
    gone: "Numbers" = field(init=False)
    """The rows of chunks that have gone."""
    _room: "tuple[Numbers, Numbers, Floats]" = field(init=False)
    """The same arrays with space behind them."""

    def __post_init__(self) -> None:
        self._clear()

    @property
    def size(self) -> int:
        return sum(array.nbytes for array in self._room)

    def refresh(self, connection: sqlite3.Connection) -> None:
        """Load what is new, and forget what has gone."""
        last_chunk, first_gone, last_gone = connection.execute(
            "SELECT coalesce((SELECT max(number) FROM chunk), 0), coalesce((SELECT min(number) FROM gone), 0),"
            " coalesce((SELECT max(number) FROM gone), 0)"
        ).fetchone()
        if (last_chunk, last_gone) == (self.last_chunk, self.last_gone):
            return
        if first_gone > self.last_gone + 1:  # what went meanwhile is no longer known
            self._clear()
        scope = connection.execute(
            "SELECT number FROM scope WHERE owner = ? AND collection = ?", (self.key.owner, self.key.collection)
        ).fetchone()
        if scope is not None:
            self._forget(connection, *scope)
            for numbers, documents, rows in self._newer(connection, *scope):
                self._append(numbers, documents, rows)
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
        for array, new in zip(self._room, (numbers, documents, rows), strict=True):
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
        """New arrays, with what is kept at their start: readers may still have the old ones."""
        import numpy as np

        shown = self.numbers, self.documents, self.rows
        room = np.empty(size, np.int64), np.empty(size, np.int64), np.empty((size, self.key.dimensions), np.float32)
        for array, old in zip(room, shown, strict=True):
            array[: len(kept)] = old[kept]
        self._room = room

    def _show(self, length: int) -> None:
        numbers, documents, rows = self._room
        self.numbers, self.documents, self.rows = numbers[:length], documents[:length], rows[:length]

    def _clear(self) -> None:
        import numpy as np

        self.last_chunk = self.last_gone = 0
        self.gone = np.zeros(0, np.int64)
        self._room = np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, self.key.dimensions), np.float32)
        self._show(0)
