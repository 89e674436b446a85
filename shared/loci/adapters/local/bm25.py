"""Finds the best chunks by BM25 with FTS5, which scores slowly: it scores as few chunks as it can."""

import math
import sqlite3
from collections.abc import Sequence

from loci.adapters.local.index_rows import DocumentCondition

MOST_WORDS = 64
"""Words of a question that are searched for: the rarest of the first few hundred."""
# FTS5 finds fast and scores slowly. So it scores only chunks with a rare word: a word in at most this share of them.
RARE = 0.1
FEWEST_GATED = 10_000
"""With fewer chunks in the database it is as fast to score all that match."""
MOST_COUNTED = 50_000
"""Words whose counts are remembered."""

SCORED = "SELECT rowid, bm25(word, 1, 0) AS score FROM word WHERE word MATCH ?"
# With `+` SQLite does not repeat the match for each row id.
GATED = " AND +rowid IN (SELECT rowid FROM word WHERE word MATCH ?)"
FILTERED = " AND +rowid IN (SELECT number FROM chunk WHERE document IN ({}))"
BEST = " ORDER BY score LIMIT ?"
EQUALS = 50
"""Extra rows to read. They may have the same score as the last wanted one; then the ids decide."""
# For more equal scores than that: sorts by id, too. Slower, because it reads the id of each row.
BEST_BY_ID = " ORDER BY score, (SELECT id FROM chunk WHERE number = word.rowid) LIMIT ?"

Scored = list[tuple[int, float]]


class Bm25:
    """Finds chunks by words. Remembers how many chunks have a word, as long as the number is about right."""

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
        """The numbers of the `limit` best chunks with their scores, and of some that score the same as the last."""
        asked = list(dict.fromkeys(word.replace("\0", " ") for word in words))
        if not asked or limit < 1:
            return []
        total = self._total(connection)
        if len(asked) <= MOST_WORDS and total < FEWEST_GATED:
            return _WordQuery(connection, scope, asked, limit, among).run()
        counts = {word: self._count(connection, word) for word in asked[: 4 * MOST_WORDS]}
        known = sorted((word for word in counts if counts[word]), key=counts.__getitem__)[:MOST_WORDS]
        if not known:
            return []
        # In the question's order: another order of adding changes the last bits of a score, and so the order of equals.
        query = _WordQuery(connection, scope, sorted(known, key=asked.index), limit, among)
        common = [word for word in known[2:] if counts[word] > RARE * total]
        if not common or total < FEWEST_GATED:
            return query.run()
        found = query.run(known[: len(known) - len(common)])
        # A chunk with only common words scores at most (k1 + 1) times the rarity of each.
        bound = sum(2.2 * _rarity(counts[word], total) for word in common)
        return found if len(found) >= limit and found[-1][1] > bound else query.run()

    def _count(self, connection: sqlite3.Connection, word: str) -> int:
        count = self._counts.get(word)
        if count is None:
            match = f"words:{_quoted(word)}"
            [count] = connection.execute("SELECT count(*) FROM word WHERE word MATCH ?", (match,)).fetchone()
            if count:  # do not remember 0: a new word must be found at once
                self._counts[word] = count
        return count

    def _total(self, connection: sqlite3.Connection) -> int:
        """The number of chunks in the database: those ever added minus those removed."""
        [total] = connection.execute(
            "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'chunk'), 0)"
            " - coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'gone'), 0)"
        ).fetchone()
        if abs(total - self._counted_of) > 0.05 * self._counted_of or len(self._counts) > MOST_COUNTED:
            self._counts, self._counted_of = {}, total
        return total


class _WordQuery:
    """One query of FTS5, with or without a gate that lets only chunks with a rare word through."""

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
            # Not an AND inside the MATCH: these words would score twice.
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
    """The word, quoted for FTS5. Any character is safe."""
    return '"' + word.replace('"', '""') + '"'


def _rarity(count: int, total: int) -> float:
    """The inverse document frequency, as FTS5 computes it."""
    return max(1e-6, math.log((total - count + 0.5) / (count + 0.5)) if count < total else 0.0)
