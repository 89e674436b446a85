"""How many words each chunk of a scope has, and which chunks there are: what BM25 asks of all of them."""

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.adapters.local.index.progress import Progress, removed_since
from loci.adapters.local.index.word_tables import words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

# The constants of FTS5.
K1, B = 1.2, 0.75
MOST_REMOVED = 4
"""If one in so many has been removed, all are read again."""


@dataclass(frozen=True, slots=True)
class WordLengths:
    """The chunks of a scope at one moment. Later ones have the same places, and more."""

    progress: Progress
    numbers: "Numbers"
    """Of the chunks, in order: a chunk's place among them is its place everywhere."""
    lengths: "NDArray[np.int32]"
    """0 for removed chunks."""
    norms: "NDArray[np.float64]"
    """The amounts that BM25 adds to the number of times that a chunk has a word."""
    chunks: int
    """Without the removed ones."""
    places: object
    """The same object as long as places stay the same."""

    @property
    def size(self) -> int:
        return self.numbers.nbytes + self.lengths.nbytes + self.norms.nbytes

    @property
    def has_removed(self) -> bool:
        return self.chunks < len(self.numbers)

    def goes_on_from(self, before: "WordLengths") -> bool:
        """True if the places are those of `before`, and more."""
        return self.places is before.places


def read_lengths(connection: sqlite3.Connection, scope: int, now: Progress, before: WordLengths | None) -> WordLengths:
    """The chunks that the connection sees."""
    import numpy as np

    if before is not None and now.first_gone > before.progress.last_gone + 1:
        before = None  # the database no longer knows what was removed meanwhile
    numbers, lengths = _after(connection, scope, before.progress.last_chunk if before else 0)
    if before is not None:
        numbers = np.concatenate([before.numbers, numbers]) if len(numbers) else before.numbers
        lengths = np.concatenate([before.lengths, lengths])  # a copy: others read what was before
        removed = np.array(removed_since(connection, scope, before.progress.last_gone), np.int64)
        if len(removed):
            lengths[np.isin(numbers, removed)] = 0
    chunks = int(np.count_nonzero(lengths))
    if before is not None and (len(numbers) - chunks) * MOST_REMOVED > len(numbers):
        return read_lengths(connection, scope, now, None)
    # In the order of FTS5, so that the last bits are the same.
    mean = float(lengths.sum(dtype=np.int64)) / max(1, chunks)
    norms = (K1 * (1 - B + B * lengths / (mean or 1))).astype(np.float64)
    return WordLengths(now, numbers, lengths, norms, chunks, before.places if before else object())


def _after(connection: sqlite3.Connection, scope: int, last: int) -> "tuple[Numbers, NDArray[np.int32]]":
    import numpy as np

    sql = f"SELECT id, sz FROM {words_of(scope)}_docsize WHERE id > ? ORDER BY id"  # noqa: S608
    rows = connection.execute(sql, (last,)).fetchall()
    known = {size: _number(size) for size in {size for _, size in rows}}
    return np.array([id for id, _ in rows], np.int64), np.array([known[size] for _, size in rows], np.int32)


def _number(size: bytes) -> int:
    """An integer of SQLite's: seven bits in each byte, the greatest first."""
    number = 0
    for byte in size:
        number = number << 7 | byte & 0x7F
    return number
