"""Remembers what each word adds to the BM25 of the chunks that have it: to add these up is faster than to ask FTS5.

FTS5 computes them, one word at a time, so the sums are its scores to the last bit. They hold until the index changes.
"""

import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loci.adapters.local.word_tables import matching, words_of
from loci.core.errors import LociError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int32]
    Scores = NDArray[np.float64]
    Part = tuple[Numbers, Scores]

MANY = 5_000
"""Chunks. A word that more of them have is read beside the searches, which do without it until then."""
SPARSE = 8
"""Sums are added up in an array for all numbers, unless there are more than this for each chunk of the scope."""
# One text, because Python's lock is taken for each row, and others hold it. 17 digits are exact. FTS5 computes no
# scores for an aggregate, but for a query within it, which the limit keeps apart.
READ = (
    "SELECT group_concat(part, ' ') FROM (SELECT rowid || ' ' || printf('%!.17g', -bm25({words})) AS part"
    " FROM {words} WHERE {words} MATCH ? LIMIT -1)"
)
LATER = ThreadPoolExecutor(1, thread_name_prefix="words")

Snapshot = Callable[[], AbstractContextManager[sqlite3.Connection]]


@dataclass(frozen=True, slots=True)
class WordSums:
    """The BM25 of every chunk with one of the words."""

    first: int
    """The number of the chunk that has the first place."""
    scores: "Scores"

    def best(self, limit: int, most: int) -> list[tuple[int, float]] | None:
        """The `limit` best and the equals of the last, best first, by number; None if they are more than `most`."""
        import numpy as np

        [places] = self.scores.nonzero()
        found = self.scores[places]
        if len(places) > limit:
            near = found >= np.partition(found, -limit)[-limit]
            places, found = places[near], found[near]
        if len(places) > most:
            return None
        order = np.lexsort((places, -found))
        return list(zip((places[order] + self.first).tolist(), found[order].tolist(), strict=True))

    def of(self, numbers: Sequence[int]) -> dict[int, float]:
        """The scores of these chunks, without those that have none of the words."""
        held = {
            one: float(self.scores[one - self.first]) for one in numbers if 0 <= one - self.first < len(self.scores)
        }
        return {one: score for one, score in held.items() if score}


@dataclass(slots=True)
class _Held:
    """The parts of one scope at one revision of the index, those that were used last at the end."""

    revision: int
    parts: "dict[str, Part]" = field(default_factory=dict[str, "Part"])
    bytes: int = 0


class WordParts:
    """The parts of the words that were asked for last, in bounded memory."""

    def __init__(self, most_bytes: int, snapshot: Snapshot) -> None:
        self._most_bytes = most_bytes
        self._snapshot = snapshot
        self._scopes: dict[int, _Held] = {}
        self._lock = threading.Lock()

    def sums(
        self, connection: sqlite3.Connection, scope: int, total: int, words: Sequence[str], counts: Mapping[str, int]
    ) -> WordSums | None:
        """The scores of all chunks with one of the words, or None if FTS5 has to compute them.

        It has to at the first search after each change: who writes all the time would wait for words again and again.
        `counts` says how many chunks have each word, if there may be many.
        """
        revision = _revision(connection)
        with self._lock:
            held = self._scopes.get(scope)
            if held is None or held.revision != revision:
                self._scopes[scope] = _Held(revision)
                return None
            parts = {word: held.parts[word] for word in dict.fromkeys(words) if word in held.parts}
        missing = [word for word in dict.fromkeys(words) if word not in parts]
        late = [word for word in missing if counts.get(word, 0) > MANY]
        for word in missing:
            if word not in late:
                parts[word] = self._read(connection, scope, revision, word)
        if late:
            LATER.submit(copy_context().run, self._read_later, scope, revision, late)
            return None
        self._used(scope, parts)
        return _summed([parts[word] for word in words], total)

    def _read_later(self, scope: int, revision: int, words: Sequence[str]) -> None:
        with suppress(LociError), self._snapshot() as connection:
            for word in words:
                with self._lock:
                    held = self._scopes.get(scope)
                    if held is None or held.revision != revision or word in held.parts:
                        continue
                if _revision(connection) == revision:
                    self._read(connection, scope, revision, word)

    def _read(self, connection: sqlite3.Connection, scope: int, revision: int, word: str) -> "Part":
        import numpy as np

        [said] = connection.execute(READ.format(words=words_of(scope)), (matching([word]),)).fetchone()
        rows = np.fromstring(said or "", sep=" ").reshape(-1, 2)
        part = rows[:, 0].astype(np.int32), rows[:, 1].copy()
        with self._lock:
            held = self._scopes.get(scope)
            if held is not None and held.revision == revision and word not in held.parts:
                held.parts[word] = part
                held.bytes += _size(part)
        return part

    def _used(self, scope: int, parts: "Mapping[str, Part]") -> None:
        """Put them at the end, and forget the first ones while all take too much."""
        with self._lock:
            held = self._scopes.get(scope)
            if held is None:
                return
            for word in parts:
                if word in held.parts:
                    held.parts[word] = held.parts.pop(word)
            while held.parts and sum(one.bytes for one in self._scopes.values()) > self._most_bytes:
                word = next(iter(held.parts))
                held.bytes -= _size(held.parts.pop(word))


def _summed(parts: "Sequence[Part]", total: int) -> WordSums | None:
    """Each word adds its part, in the question's order, as FTS5 does."""
    import numpy as np

    some = [part for part in parts if len(part[0])]
    if not some:
        return WordSums(0, np.zeros(0))
    first, last = min(int(numbers[0]) for numbers, _ in some), max(int(numbers[-1]) for numbers, _ in some)
    if last - first > SPARSE * total:
        return None
    sums = np.zeros(last - first + 1)
    for numbers, scores in some:
        sums[numbers - first] += scores
    return WordSums(first, sums)


def _revision(connection: sqlite3.Connection) -> int:
    [number] = connection.execute("SELECT number FROM revision").fetchone()
    return number


def _size(part: "Part") -> int:
    return part[0].nbytes + part[1].nbytes
