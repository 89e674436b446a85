"""Compares a question with the vectors of a collection, which stay in memory. Each search first reads what has changed.

If there are many vectors, only their codes stay in memory: to read all vectors would take half a minute, and gigabytes.
The search then reads the vectors whose codes are near.
"""

import json
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from loci.adapters.local.index.tables import progress, removed_since
from loci.adapters.local.index.vector_codes import WORD, code_bytes, code_of
from loci.search.inference import damaged_vectors, rows_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]
    Words = NDArray[np.uint64]

NOWHERE = -9.0
"""The value of removed chunks. Every cosine is greater."""
SAME = 1e-6
"""The cosines of equal vectors in two rows may differ by this much."""
SAME_GUESS = 1e-3
LEAST_GUESSED, SHARE_GUESSED, MOST_GUESSED = 4_000, 50, 24_000
"""The vectors with the most equal signs, whose cosines a search guesses: this many, or one in this many."""
LEAST_READ, MOST_READ = 1_200, 6_000
"""The best of these guesses, whose vectors are read from the database. On vectors such as MiniLM makes, that finds .997
of the nearest 50 among a million."""
SIGNS_OFF, GUESS_OFF = 1.25, 0.9
"""Signs and guesses put few of the nearest further back than this: equal signs, times the root of the dimensions, and
units of a guess. Of passages that are alike, as notes of one template, more than the least lie within it."""
A_BLOCK = 65_536
"""Signs that are compared at once: they stay in the processor's cache."""
VECTOR_AT = "SELECT value, (SELECT vector FROM vector WHERE number = value) FROM json_each(?)"
AT_ONCE = 4096
MANY = 20_000
"""Passages of a collection, from which on a search compares the codes of all, and computes the cosines of the best."""
CODES = "SELECT number, document, code FROM code WHERE scope = ? AND model = ? AND number > ? ORDER BY number"
CODES_AND_VECTORS = (
    "SELECT number, document, code, (SELECT vector FROM vector WHERE vector.number = code.number)"
    " FROM code WHERE scope = ? AND model = ? AND number > ? ORDER BY number"
)


@dataclass(frozen=True, slots=True)
class VectorRows:
    """The vectors of a collection at one moment."""

    dimensions: int
    numbers: "Numbers"
    documents: "Numbers"
    rows: "Floats | None"
    """The vectors; None if there are too many to keep."""
    signs: "Words"
    """A row for each 64 dimensions: they are read one after the other."""
    halves: "Words"
    """A row for each chunk."""
    gone: "Numbers"

    def against(self, vector: bytes) -> "Cosines":
        """The nearness of all to the vector. Uses no connection, so it can run in another thread."""
        import numpy as np

        query = np.frombuffer(vector, "<f4")
        # Not `@`: it is as fast, but afterwards the threads of BLAS spin on the cores that FTS5 needs.
        near = self._equal_signs(query) if self.rows is None else np.vecdot(self.rows, query)
        near[self.gone] = NOWHERE
        return Cosines(self, query, near)

    def _equal_signs(self, query: "Floats") -> "NDArray[np.int16]":
        import numpy as np

        asked = np.frombuffer(code_of(query.astype("<f2").tobytes()), np.uint64)[: len(self.signs)]
        near = np.full(len(self.numbers), self.dimensions, np.int16)
        for start in range(0, len(near), A_BLOCK):
            block = near[start : start + A_BLOCK]
            for column, word in zip(self.signs[:, start : start + A_BLOCK], asked, strict=True):
                block -= np.bitwise_count(column ^ word)
        return near


@dataclass(frozen=True, slots=True)
class Cosines:
    """The cosine of each chunk of a collection with a question's vector."""

    held: VectorRows
    vector: "Floats"
    nearness: "NDArray[np.float32 | np.int16]"
    """The cosines, or, of many, the numbers of equal signs; `NOWHERE` for removed chunks."""

    def nearest(
        self,
        connection: sqlite3.Connection,
        limit: int,
        among: Sequence[int] | None,
        chunks: Sequence[int] | None = None,
    ) -> dict[int, float]:
        """The `limit` nearest chunks by number, and all as near as the last of them.

        Only in the documents `among`, and only of these `chunks`, if they are given. Of many, some may be missing.
        """
        import numpy as np

        near = self.nearness
        for numbers, wanted in ((self.held.documents, among), (self.held.numbers, chunks)):
            if wanted is not None:
                near = np.where(np.isin(numbers, np.array(wanted, np.int64)), near, near.dtype.type(NOWHERE))
        if limit < 1 or not len(near):
            return {}
        if self.held.rows is not None:
            return self._exact(connection, _best(near, limit, SAME))
        least = max(LEAST_GUESSED, len(near) // SHARE_GUESSED)
        places = _hopeful(near, limit, (least, MOST_GUESSED), SIGNS_OFF * self.held.dimensions**0.5, 0)
        places = places[_hopeful(self._guesses(places), limit, (LEAST_READ, MOST_READ), GUESS_OFF, SAME_GUESS)]
        values = self._cosines(connection, places)
        return self._named(places, values, _best(values, limit, SAME))

    def cosines_of(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, float]:
        """The cosines of these chunks, by number. Leaves out those without a vector."""
        import numpy as np

        held = self.held.numbers
        if not len(held):
            return {}
        wanted = np.array(numbers, np.int64)
        places = np.searchsorted(held, wanted).clip(max=len(held) - 1)
        return self._exact(connection, places[(held[places] == wanted) & (self.nearness[places] > NOWHERE)])

    def _exact(self, connection: sqlite3.Connection, places: "Numbers") -> dict[int, float]:
        import numpy as np

        return self._named(places, self._cosines(connection, places), np.arange(len(places)))

    def _named(self, places: "Numbers", values: "Floats", some: "Numbers") -> dict[int, float]:
        numbers = self.held.numbers[places[some]]
        return {int(number): round(float(value), 6) for number, value in zip(numbers, values[some], strict=True)}

    def _guesses(self, places: "Numbers") -> "Floats":
        """Values nearly in the order of the cosines: two bits for each dimension stand for four levels."""
        import numpy as np

        both = self.held.signs[:, places].T, self.held.halves[places]
        signs, halves = (np.unpackbits(np.ascontiguousarray(one).view(np.uint8), axis=1) for one in both)
        levels = (2 * signs + halves)[:, : self.held.dimensions].astype(np.float32) - np.float32(1.5)
        return np.vecdot(levels, self.vector)

    def _cosines(self, connection: sqlite3.Connection, places: "Numbers") -> "Floats":
        """Adds up each row in the same order, so that equal vectors have equal cosines."""
        import numpy as np

        rows = self._read(connection, places) if self.held.rows is None else self.held.rows[places]
        return np.einsum("ij,j->i", rows, self.vector)

    def _read(self, connection: sqlite3.Connection, places: "Numbers") -> "Floats":
        numbers: list[int] = self.held.numbers[places].tolist()
        vectors = dict(connection.execute(VECTOR_AT, (json.dumps(numbers),)))
        rows = rows_of([vectors[number] or b"" for number in numbers], self.held.dimensions)
        if rows is None:
            raise damaged_vectors()
        return rows


def codes_apart(codes: Sequence[bytes], dimensions: int) -> "tuple[Words, Words] | None":
    """The signs and the other bits of each code, as rows; None if one of them is damaged."""
    import numpy as np

    words = code_bytes(dimensions) // WORD
    if any(len(code) != WORD * words for code in codes):
        return None
    rows = np.frombuffer(b"".join(codes), np.uint64).reshape(len(codes), words)
    return rows[:, : words // 2], rows[:, words // 2 :]


def _hopeful(
    values: "NDArray[np.float32 | np.int16]", limit: int, bounds: tuple[int, int], off: float, same: float
) -> "Numbers":
    """The places of the greatest values, among which the `limit` best are, if no value is wrong by more than `off`."""
    import numpy as np

    least = max(limit, bounds[0])
    places = _best(values, least, same)
    if len(places) >= len(values) or len(places) < least:
        return places
    found = values[places]
    wanted = np.partition(found, -limit)[-limit] - off
    if found.min() < wanted:
        return places
    return _best(values, min(int(np.count_nonzero(values >= wanted)), max(least, bounds[1])), same)


def _best(values: "NDArray[np.float32 | np.int16]", limit: int, same: float) -> "Numbers":
    """The places of the `limit` greatest values, and of all that are the same as the last of them."""
    import numpy as np

    if not len(values):
        return np.zeros(0, np.int64)
    last = np.partition(values, -limit)[-limit] if limit < len(values) else values.min()
    return np.nonzero((values >= last - same) & (values > NOWHERE))[0]


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
            rows = matrix.snapshot()
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
    """Arrays with free space at the end."""

    def __post_init__(self) -> None:
        self._clear()

    @property
    def size(self) -> int:
        return sum(array.nbytes for array in self._room)

    def snapshot(self) -> VectorRows:
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
        """Load new vectors and drop the vectors of removed chunks."""
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
    """The vectors; None if there are too many to keep."""
