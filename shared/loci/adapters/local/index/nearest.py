"""Compares a question with the vectors of a collection: with all of few; of many, with those whose codes are near."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
"""Of many, the cosines are guessed for so many with the most equal signs, or for one in so many."""
LEAST_READ, MOST_READ = 1_200, 6_000
"""The best of these guesses, whose vectors are read from the database. On vectors like those of MiniLM that finds .997
of the nearest 50 among a million."""
SIGNS_OFF, GUESS_OFF = 1.25, 0.9
"""Signs and guesses put few of the nearest further back than this: equal signs, times the root of the dimensions, and
units of a guess. Of passages that are alike, as notes of one template, more than the least lie within it."""
A_BLOCK = 65_536
"""Signs that are compared at once: they stay in the processor's cache."""
VECTOR_AT = "SELECT value, (SELECT vector FROM vector WHERE number = value) FROM json_each(?)"


@dataclass(frozen=True, slots=True)
class VectorRows:
    """The vectors of a collection at one moment."""

    dimensions: int
    numbers: "Numbers"
    documents: "Numbers"
    rows: "Floats | None"
    """None if they are many."""
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

    def of(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, float]:
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
        """In the order of the cosines, nearly: two bits for each dimension stand for four levels."""
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
