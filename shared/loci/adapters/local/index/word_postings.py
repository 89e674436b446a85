"""Remembers the chunks that have a word, and how often: from that BM25 is added up in a few passes. FTS5 takes longer.

The sums are FTS5's scores to the last bit. A write makes nothing stale: the next question reads what was added.
"""

import json
import math
import re
import sqlite3
import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from loci.adapters.local.index.tables import IndexProgress, matching, postings_of, progress, removed_since, words_of
from loci.search.words import MARK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

# The constants of FTS5.
K1, B = 1.2, 0.75
MOST_REMOVED = 4
"""All chunks are read again if one in this many has been removed."""
FEW = 500
"""New chunks with a word that are looked up one by one; to read all that have it takes as long as some thousands."""
LEAST_RARITY = 1e-6
AN_ENTRY = 500
"""Bytes that a word takes, even if no chunk has it."""
LAST = chr(sys.maxunicode)
"""Behind every word."""
ONE_WORD = re.compile(r"[a-z0-9_\u0080-\U0010ffff]+")
"""A word that FTS5 leaves as it is."""
# One text a word, because Python's lock is taken for each row, and others hold it. A chunk is said once for each time
# that it has the word. All words in one statement: most names that a question may have in it are in no chunk.
EVERY = "SELECT value, (SELECT group_concat(doc, ' ') FROM {postings} WHERE term = value) FROM json_each(?)"
NEXT = "SELECT term FROM {postings} WHERE term >= ? LIMIT 1"
# FTS5 marks each time that the chunk has the word.
NEWER = (
    "SELECT rowid, length(marked) - length(replace(marked, char(1), '')) FROM"
    " (SELECT rowid, highlight({words}, 0, char(1), '') AS marked FROM {words} WHERE {words} MATCH ? AND rowid > ?"
    " LIMIT ?)"
)


@dataclass(frozen=True, slots=True)
class WordLengths:
    """The chunks of a scope at one moment. Later ones have the same places, and more."""

    progress: IndexProgress
    numbers: "Numbers"
    """The numbers of the chunks, in order: a chunk's place among them is its place everywhere."""
    lengths: "NDArray[np.int32]"
    """0 for removed chunks."""
    norms: "NDArray[np.float64]"
    """The amounts that BM25 adds to the number of times that a chunk has a word."""
    chunks: int
    """The number of chunks, without the removed ones."""
    places: object
    """The same object as long as places stay the same."""

    @property
    def size(self) -> int:
        return self.numbers.nbytes + self.lengths.nbytes + self.norms.nbytes

    @property
    def has_removed(self) -> bool:
        return self.chunks < len(self.numbers)

    def goes_on_from(self, before: "WordLengths") -> bool:
        """True if all places of `before` stay, and others are added."""
        return self.places is before.places


def read_lengths(
    connection: sqlite3.Connection, scope: int, now: IndexProgress, before: WordLengths | None
) -> WordLengths:
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


@dataclass(frozen=True, slots=True)
class WordSums:
    """The BM25 of every chunk with one of the words."""

    numbers: "NDArray[np.int64]"
    scores: "NDArray[np.float64]"

    def best(self, limit: int, most: int) -> list[tuple[int, float]] | None:
        """The `limit` best and the equals of the last, best first, by number; None if they are more than `most`."""
        import numpy as np

        having = self.scores[self.scores > 0]  # most are zeros, among which numpy's `partition` takes ten times as long
        least = np.partition(having, -limit)[-limit] if len(having) > limit else 0.0
        [places] = (self.scores >= least if least else self.scores > 0).nonzero()
        if len(places) > most:
            return None
        found = self.scores[places]
        order = np.lexsort((places, -found))
        return list(zip(self.numbers[places[order]].tolist(), found[order].tolist(), strict=True))

    def scores_of(self, numbers: Sequence[int]) -> dict[int, float]:
        """The scores of these chunks, without chunks that have none of the words."""
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
    """The number of chunks of the scope that were read for it, with chunks that have been removed since."""
    places: "NDArray[np.uint32]"
    times: "NDArray[np.uint16]"

    @property
    def size(self) -> int:
        return self.places.nbytes + self.times.nbytes + AN_ENTRY


@dataclass(slots=True)
class _Words:
    """The words that are remembered, in the order of their last use."""

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
        postings = self._postings(connection, scope, held, list(dict.fromkeys(words)))
        parts = {word: _part(one, lengths) for word, one in postings.items() if len(one.places)}
        self._forget()
        sums = np.zeros(len(lengths.numbers))
        for word in words:  # each adds its part, in the question's order, as in FTS5
            if word in parts:
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

    def _postings(
        self, connection: sqlite3.Connection, scope: int, held: _Scope, words: Sequence[str]
    ) -> dict[str, _Posting]:
        with self._lock:
            known = {word: one for word in words if (one := held.words.postings.get(word)) is not None}
        grown = {word: _grown(connection, scope, held.lengths, word, one) for word, one in known.items()}
        found = {word: one for word, one in grown.items() if one is not None}
        found |= _read(connection, scope, held.lengths, [word for word in words if word not in found])
        with self._lock:
            for word in words:
                held.words.put(word, found[word])
        return found

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
    connection: sqlite3.Connection, scope: int, lengths: WordLengths, word: str, known: _Posting
) -> _Posting | None:
    """The posting as the connection sees it, perhaps with entries that a newer search has added.

    None if it is faster to read all of it again.
    """
    import numpy as np

    if known.seen >= len(lengths.numbers):
        return known
    last = int(lengths.numbers[known.seen - 1]) if known.seen else 0
    sql = NEWER.format(words=words_of(scope))
    newer: list[tuple[int, int]] = connection.execute(sql, (matching([word]), last, FEW + 1)).fetchall()
    if len(newer) > FEW:
        return None
    numbers, times = np.array(newer, np.int64).reshape(-1, 2).T
    places = np.concatenate([known.places, _places(lengths, numbers)])
    return _Posting(len(lengths.numbers), places, np.concatenate([known.times, times.astype(np.uint16)]))


def _read(
    connection: sqlite3.Connection, scope: int, lengths: WordLengths, words: Sequence[str]
) -> dict[str, _Posting]:
    """The postings of the words, as the connection sees them."""
    import numpy as np

    found, absent = dict[str, _Posting](), _absent_names(connection, scope, words)
    said_of = dict[str, str | None].fromkeys(absent)
    wanted = [word for word in words if word not in absent]
    if wanted:
        said_of.update(connection.execute(EVERY.format(postings=postings_of(scope)), (json.dumps(wanted),)))
    for word, said in said_of.items():
        if said is None:
            found[word] = _Posting(len(lengths.numbers), np.empty(0, np.uint32), np.empty(0, np.uint16))
            continue
        every = np.fromstring(said, np.int64, sep=" ")
        bounds = np.concatenate([[0], np.flatnonzero(every[1:] != every[:-1]) + 1, [len(every)]])
        times = (bounds[1:] - bounds[:-1]).astype(np.uint16)
        found[word] = _Posting(len(lengths.numbers), _places(lengths, every[bounds[:-1]]), times)
    return found


def _absent_names(connection: sqlite3.Connection, scope: int, words: Sequence[str]) -> set[str]:
    """The names that no chunk has: a look at the next word of the index tells it of all names before that word.

    A question may have dozens of names in it, and FTS5 takes as long to look for each as to read a rare word.
    """
    absent, following = set[str](), ""
    for name in sorted(word for word in words if word.startswith(MARK)):
        if name > following:
            found = connection.execute(NEXT.format(postings=postings_of(scope)), (name,)).fetchone()
            following = found[0] if found else LAST
        if name < following:
            absent.add(name)
    return absent


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
