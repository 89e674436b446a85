"""The best chunks by BM25 over the words, from FTS5."""

import math
import sqlite3
from collections.abc import Sequence

from loci.adapters.local.conditions import DocumentCondition

MOST_WORDS = 64
"""Of a question: the rarest of the first few hundred."""
# FTS5 finds fast and scores slowly, so only what holds one of the rarer words is scored: those in at most this share.
RARE = 0.1
FEWEST_GATED = 10_000
"""Chunks in the database, below which it is as fast to score all."""
MOST_COUNTED = 50_000

SCORED = "SELECT rowid, bm25(word, 1, 0) AS score FROM word WHERE word MATCH ?"
# `+` keeps SQLite from matching once for each row id.
GATED = " AND +rowid IN (SELECT rowid FROM word WHERE word MATCH ?)"
FILTERED = " AND +rowid IN (SELECT number FROM chunk WHERE document IN ({}))"
BEST = " ORDER BY score LIMIT ?"
EQUALS = 50
"""With the score of the last that is wanted, which is in their order by id."""
# Slower: each row's id is read, so that of more with equal scores the first by id are here.
BEST_BY_ID = " ORDER BY score, (SELECT id FROM chunk WHERE number = word.rowid) LIMIT ?"

Scored = list[tuple[int, float]]


class Bm25:
    """Finds by words. How many chunks have a word is remembered for as long as it is about right."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._counted_of = 0

    def best(
        self,
        connection: sqlite3.Connection,
        scope: int,
        words: Sequence[str],
        limit: int,
        among: DocumentCondition | None,
    ) -> Scored:
        """The numbers of the `limit` best chunks with their scores, and of some that are as good as the last."""
        asked = list(dict.fromkeys(word.replace("\0", " ") for word in words))
        if not asked or limit < 1:
            return []
        total = self._total(connection)
        if len(asked) <= MOST_WORDS and total < FEWEST_GATED:
            return _Search(connection, scope, asked, limit, among).run()
        counts = {word: self._count(connection, word) for word in asked[: 4 * MOST_WORDS]}
        known = sorted((word for word in counts if counts[word]), key=counts.__getitem__)[:MOST_WORDS]
        if not known:
            return []
        # In the question's order: another one would give other last bits, and so another order of equals.
        search = _Search(connection, scope, sorted(known, key=asked.index), limit, among)
        common = [word for word in known[2:] if counts[word] > RARE * total]
        if not common or total < FEWEST_GATED:
            return search.run()
        found = search.run(known[: len(known) - len(common)])
        # What has only common words has at most (k1 + 1) times the rarity of each.
        bound = sum(2.2 * _rarity(counts[word], total) for word in common)
        return found if len(found) >= limit and found[-1][1] > bound else search.run()

    def _count(self, connection: sqlite3.Connection, word: str) -> int:
        count = self._counts.get(word)
        if count is None:
            match = f"words:{_quoted(word)}"
            [count] = connection.execute("SELECT count(*) FROM word WHERE word MATCH ?", (match,)).fetchone()
            if count:  # others come with time, and are worth knowing at once
                self._counts[word] = count
        return count

    def _total(self, connection: sqlite3.Connection) -> int:
        """The chunks of the database: of the numbers given out, those that have not gone."""
        [total] = connection.execute(
            "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'chunk'), 0)"
            " - coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'gone'), 0)"
        ).fetchone()
        if abs(total - self._counted_of) > 0.05 * self._counted_of or len(self._counts) > MOST_COUNTED:
            self._counts, self._counted_of = {}, total
        return total


class _Search:
    """One question to FTS5, as it is or through a gate."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        scope: int,
        words: Sequence[str],
        limit: int,
        among: DocumentCondition | None,
    ) -> None:
        self._connection = connection
        self._scope = scope
        self._words = words
        self._limit = limit
        self._among = among

    def run(self, rare: Sequence[str] = ()) -> Scored:
        sql, values = SCORED, [self._match(self._words)]
        if rare:
            # Not an AND in the MATCH: there each of these words would score twice.
            sql, values = sql + GATED, [*values, self._match(rare)]
        if self._among is not None:
            sql, values = sql + FILTERED.format(self._among.sql), [*values, *self._among.values]
        most = self._limit + EQUALS
        found: Scored = self._connection.execute(sql + BEST, (*values, most)).fetchall()
        if len(found) == most and found[-1][1] == found[self._limit - 1][1]:
            found = self._connection.execute(sql + BEST_BY_ID, (*values, self._limit)).fetchall()
        last = found[: self._limit][-1][1] if found else 0.0
        return [(number, -score) for number, score in found if score <= last]  # FTS5's are negative

    def _match(self, words: Sequence[str]) -> str:
        return f'words:({" OR ".join(map(_quoted, words))}) AND scope:"_{self._scope}"'


def _quoted(word: str) -> str:
    """The word as FTS5 syntax for itself, whatever it holds."""
    return '"' + word.replace('"', '""') + '"'


def _rarity(count: int, total: int) -> float:
    """FTS5's idf."""
    return max(1e-6, math.log((total - count + 0.5) / (count + 0.5)) if count < total else 0.0)
