"""Remembers which chunks have a word, and how often: from that BM25 adds up in a few passes what FTS5 takes long for.

The sums are FTS5's scores to the last bit. A write makes nothing stale: the next question reads what was added.
"""

import math
import re
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from loci.adapters.local.index.progress import progress
from loci.adapters.local.index.word_lengths import K1, WordLengths, read_lengths
from loci.adapters.local.index.word_tables import matching, postings_of, words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEW = 500
"""New chunks with a word that are looked up one by one; to read all that have it takes as long as some thousands."""
LEAST_RARITY = 1e-6
ONE_WORD = re.compile(r"[a-z0-9_\u0080-\U0010ffff]+")
"""A word that FTS5 leaves as it is."""
# One text, because Python's lock is taken for each row, and others hold it. A chunk is said once for each time that it
# has the word.
EVERY = "SELECT group_concat(doc, ' ') FROM {postings} WHERE term = ?"
# FTS5 marks each time that the chunk has the word.
NEWER = (
    "SELECT rowid, length(marked) - length(replace(marked, char(1), '')) FROM"
    " (SELECT rowid, highlight({words}, 0, char(1), '') AS marked FROM {words} WHERE {words} MATCH ? AND rowid > ?"
    " LIMIT ?)"
)


@dataclass(frozen=True, slots=True)
class WordSums:
    """The BM25 of every chunk with one of the words."""

    numbers: "NDArray[np.int64]"
    scores: "NDArray[np.float64]"

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
        return list(zip(self.numbers[places[order]].tolist(), found[order].tolist(), strict=True))

    def of(self, numbers: Sequence[int]) -> dict[int, float]:
        """The scores of these chunks, without those that have none of the words."""
        import numpy as np

        if not len(self.numbers):
            return {}
        wanted = np.array(numbers, np.int64)
        places = np.searchsorted(self.numbers, wanted).clip(max=len(self.numbers) - 1)
        scores = np.where(self.numbers[places] == wanted, self.scores[places], 0)
        return {one: score for one, score in zip(numbers, scores.tolist(), strict=True) if score}


class _Posting(NamedTuple):
    """The chunks with a word."""

    seen: int
    """Among so many chunks of the scope, with those that have been removed since it was read."""
    places: "NDArray[np.uint32]"
    times: "NDArray[np.uint16]"

    @property
    def size(self) -> int:
        return self.places.nbytes + self.times.nbytes


@dataclass(slots=True)
class _Words:
    """The words that are remembered, those that were used last at the end."""

    postings: OrderedDict[str, _Posting] = field(default_factory=OrderedDict[str, _Posting])
    bytes: int = 0

    def put(self, word: str, posting: _Posting) -> None:
        before = self.postings.pop(word, None)
        self.postings[word] = posting
        self.bytes += posting.size - (before.size if before is not None else 0)

    def forget_one(self) -> int:
        """The bytes of the first, which is forgotten."""
        _, posting = self.postings.popitem(last=False)
        self.bytes -= posting.size
        return posting.size


@dataclass(frozen=True, slots=True)
class _Scope:
    """The known lengths and words of one scope."""

    lengths: WordLengths
    words: _Words
    """Searches with older or newer lengths may share them."""


class WordPostings:
    """The postings of the words that were asked for last, in bounded memory."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._scopes: OrderedDict[int, _Scope] = OrderedDict()
        self._lock = threading.Lock()

    def sums(self, connection: sqlite3.Connection, scope: int, words: Sequence[str]) -> WordSums | None:
        """The scores of all chunks with one of the words; None if FTS5 has to compute them.

        It has to if it would cut a word in parts, or if another search has seen a newer index.
        """
        import numpy as np

        held = self._current(connection, scope) if all(ONE_WORD.fullmatch(word) for word in words) else None
        if held is None:
            return None
        lengths = held.lengths
        parts = {word: _part(self._posting(connection, scope, held, word), lengths) for word in dict.fromkeys(words)}
        self._forget()
        sums = np.zeros(len(lengths.numbers))
        for word in words:  # each adds its part, in the question's order, as in FTS5
            places, scores = parts[word]
            sums[places] += scores
        return WordSums(lengths.numbers, sums)

    def _current(self, connection: sqlite3.Connection, scope: int) -> _Scope | None:
        """The scope as it is known, with the lengths that the connection sees."""
        now = progress(connection)
        with self._lock:
            held = self._scopes.get(scope)
            if held is not None:
                self._scopes.move_to_end(scope)
        before = held.lengths if held is not None else None
        if held is not None and before is not None:
            if before.progress == now:
                return held
            if before.progress.last_chunk > now.last_chunk or before.progress.last_gone > now.last_gone:
                return None
        lengths = read_lengths(connection, scope, now, before)
        is_same = held is not None and before is not None and lengths.goes_on_from(before)
        new = _Scope(lengths, held.words if held is not None and is_same else _Words())
        with self._lock:
            self._scopes[scope] = new
            self._scopes.move_to_end(scope)
        return new

    def _posting(self, connection: sqlite3.Connection, scope: int, held: _Scope, word: str) -> _Posting:
        with self._lock:
            known = held.words.postings.get(word)
        posting = _grown(connection, scope, held.lengths, word, known)
        with self._lock:
            held.words.put(word, posting)
        return posting

    def _forget(self) -> None:
        """Forget the words that were used longest ago while all take too much, and then their scopes."""
        with self._lock:
            left = sum(one.lengths.size + one.words.bytes for one in self._scopes.values()) - self._most_bytes
            while left > 0 and self._scopes:
                scope, held = next(iter(self._scopes.items()))
                if held.words.postings:
                    left -= held.words.forget_one()
                else:
                    left -= self._scopes.pop(scope).lengths.size


def _grown(
    connection: sqlite3.Connection, scope: int, lengths: WordLengths, word: str, known: _Posting | None
) -> _Posting:
    """The posting as the connection sees it, perhaps with what a newer search has added."""
    import numpy as np

    if known is not None and known.seen >= len(lengths.numbers):
        return known
    if known is not None:
        last = int(lengths.numbers[known.seen - 1]) if known.seen else 0
        sql = NEWER.format(words=words_of(scope))
        newer: list[tuple[int, int]] = connection.execute(sql, (matching([word]), last, FEW + 1)).fetchall()
        if len(newer) <= FEW:
            numbers, times = np.array(newer, np.int64).reshape(-1, 2).T
            places = np.concatenate([known.places, _places(lengths, numbers)])
            return _Posting(len(lengths.numbers), places, np.concatenate([known.times, times.astype(np.uint16)]))
    [said] = connection.execute(EVERY.format(postings=postings_of(scope)), (word,)).fetchone()
    every = np.fromstring(said or "", np.int64, sep=" ")
    firsts = np.flatnonzero(np.diff(every, prepend=-1))
    times = np.diff(firsts, append=len(every)).astype(np.uint16)
    return _Posting(len(lengths.numbers), _places(lengths, every[firsts]), times)


def _places(lengths: WordLengths, numbers: "NDArray[np.int64]") -> "NDArray[np.uint32]":
    import numpy as np

    return np.searchsorted(lengths.numbers, numbers).astype(np.uint32)


def _part(posting: _Posting, lengths: WordLengths) -> "tuple[NDArray[np.uint32], NDArray[np.float64]]":
    """The scores that the word adds to the chunks that have it, computed in the order of FTS5."""
    import numpy as np

    _, places, times = posting
    if posting.seen > len(lengths.numbers):
        end = int(np.searchsorted(places, len(lengths.numbers)))
        places, times = places[:end], times[:end]
    if lengths.has_removed:
        kept = lengths.lengths[places] > 0
        places, times = places[kept], times[kept]
    count = len(places)
    rarity = max(LEAST_RARITY, math.log((lengths.chunks - count + 0.5) / (count + 0.5)))
    return places, rarity * ((times * (K1 + 1)) / (times + lengths.norms[places]))
