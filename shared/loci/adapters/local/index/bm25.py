"""Finds the best chunks by BM25 with FTS5, which scores slowly: it scores as few chunks as it can."""

import json
import math
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from loci.adapters.local.index.tables import DocumentCondition, matching, words_of
from loci.adapters.local.index.word_postings import WordPostings

MOST_WORDS = 64
"""Words of a question that are searched for: the rarest of the first few hundred."""
# FTS5 finds fast and scores slowly. So it scores only chunks with a rare word: a word in at most this share of them.
RARE = 0.1
FEWEST_GATED = 10_000
"""Chunks of a scope. If there are fewer, it is as fast to score all that match."""
AT_FIRST = 3
"""Searches by words alone that FTS5 does. Then numpy, which takes longer to load than some of them, is worth it."""
MOST_COUNTED = 50_000
"""Words whose counts are remembered."""

SCORED = "SELECT rowid, bm25({words}) AS score FROM {words} WHERE {words} MATCH ?"
# With `+` SQLite does not repeat the match for each row id.
GATED = " AND +rowid IN (SELECT rowid FROM {words} WHERE {words} MATCH ?)"
ONLY = " AND +rowid IN (SELECT value FROM json_each(?))"
FILTERED = " AND +rowid IN (SELECT number FROM chunk WHERE document IN ({documents}))"
BEST = " ORDER BY score LIMIT ?"
EQUALS = 50
"""Extra rows to read. They may have the same score as the last wanted one; then the ids decide."""
# For more equal scores than that: sorts by id, too. Slower, because it reads the id of each row.
BEST_BY_ID = " ORDER BY score, (SELECT id FROM chunk WHERE number = {words}.rowid) LIMIT ?"

Scored = list[tuple[int, float]]


class Bm25:
    """Finds chunks by words. Remembers how many chunks of a scope have a word, as long as the number is about right."""

    def __init__(self, postings: WordPostings) -> None:
        self._postings = postings
        self._scopes: dict[int, _WordCounts] = {}
        self._searches = 0

    def scores(
        self,
        connection: sqlite3.Connection,
        scope: int,
        total: int,
        words: Sequence[str],
        limit: int,
        among: DocumentCondition | None,
        having: Sequence[str] = (),
        *,
        with_numpy: bool = False,
    ) -> "WordScores":
        """The `limit` best chunks of the scope's `total`, and a way to the scores of others.

        Only in the documents `among`, and only chunks `having` one of those words, if they are given.
        """
        asked = [word.replace("\0", " ") for word in words]
        if not total or not asked or limit < 1:
            return WordScores([], lambda _: {})
        self._searches += 1
        with_numpy = with_numpy or self._searches > AT_FIRST
        if with_numpy and among is None and not having and len(asked) <= MOST_WORDS:
            sums = self._postings.sums(connection, scope, asked)
            best = sums and sums.best(limit, limit + EQUALS)
            if sums and best is not None:
                return WordScores(best, sums.scores_of)
        wanted, counts = self._wanted(connection, scope, total, asked)
        if not wanted:
            return WordScores([], lambda _: {})
        query = _WordQuery(connection, scope, wanted, limit, among, having)
        if total < FEWEST_GATED:
            return query.every()
        known = sorted(counts, key=counts.__getitem__)
        common = [word for word in known[2:] if counts[word] > RARE * total]
        if not common:
            return WordScores(query.best(), query.scores_of)
        found = query.best(known[: len(known) - len(common)])
        # A chunk with only common words scores at most (k1 + 1) times the rarity of each.
        bound = sum(2.2 * wanted.count(word) * _rarity(counts[word], total) for word in common)
        is_exact = len(found) >= limit and found[-1][1] > bound
        return WordScores(found if is_exact else query.best(), query.scores_of)

    def _wanted(
        self, connection: sqlite3.Connection, scope: int, total: int, asked: Sequence[str]
    ) -> tuple[Sequence[str], dict[str, int]]:
        """The words that are searched for, and the counts of each; no counts if they do not matter."""
        if len(asked) <= MOST_WORDS and total < FEWEST_GATED:
            return asked, {}
        counts = self._counts(connection, scope, total, list(dict.fromkeys(asked))[: 4 * MOST_WORDS])
        known = sorted((word for word in counts if counts[word]), key=counts.__getitem__)[:MOST_WORDS]
        # In the question's order: another order of adding changes the last bits of a score, and so the order of equals.
        return [word for word in asked if word in known], {word: counts[word] for word in known}

    def _counts(self, connection: sqlite3.Connection, scope: int, total: int, words: Sequence[str]) -> dict[str, int]:
        """The number of the scope's `total` chunks that have each of the words."""
        known = self._scopes.get(scope)
        if known is None or abs(total - known.total) > 0.05 * known.total:
            known = self._scopes[scope] = _WordCounts(total)
        counts = {word: known.counts.get(word) or _count(connection, scope, word) for word in words}
        # Not 0: a new word must be found at once.
        known.counts.update((word, count) for word, count in counts.items() if count)
        if sum(len(one.counts) for one in self._scopes.values()) > MOST_COUNTED:
            self._scopes = {}
        return counts


@dataclass(frozen=True, slots=True)
class _WordCounts:
    """The number of chunks of a scope that had each word, when the scope had `total` chunks."""

    total: int
    counts: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class WordScores:
    """The numbers of the best chunks with their scores, and of equals of the last."""

    best: Scored
    scores_of: Callable[[Sequence[int]], dict[int, float]]
    """The scores of these chunks, by number, without chunks that have none of the words."""


class _WordQuery:
    """A query of FTS5, with or without a gate that lets only chunks with a rare word through."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        scope: int,
        words: Sequence[str],
        limit: int,
        among: DocumentCondition | None,
        having: Sequence[str],
    ) -> None:
        self._connection = connection
        self._table = words_of(scope)
        self._match = matching(words)
        self._limit = limit
        self._among = among
        self._having = having

    def every(self) -> WordScores:
        """All of few chunks: to sort them here takes less time than a second query for the scores of some."""
        sql, values = self._scored()
        every = self._rows(sql, values)
        best = sorted(every, key=itemgetter(1))[: self._limit + EQUALS]
        scores = {number: -score for number, score in every}
        return WordScores(
            self._cut(best, sql, values), lambda numbers: {one: scores[one] for one in numbers if one in scores}
        )

    def best(self, rare: Sequence[str] = ()) -> Scored:
        """The best chunks, perhaps only of chunks with one of the `rare` words."""
        sql, values = self._scored(rare)
        return self._cut(self._rows(sql + BEST, (*values, self._limit + EQUALS)), sql, values)

    def scores_of(self, numbers: Sequence[int]) -> dict[int, float]:
        """The scores of these chunks. FTS5 finds every chunk with one of the words for it, but scores only these."""
        if not numbers:
            return {}
        found = self._rows(SCORED + ONLY, (self._match, json.dumps(numbers)))
        return {number: -score for number, score in found}

    def _scored(self, rare: Sequence[str] = ()) -> tuple[str, Sequence[str | int]]:
        sql, values = SCORED, [self._match]
        if rare:
            # Not an AND inside the MATCH: these words would score twice.
            sql, values = sql + GATED, [*values, matching(rare)]
        if self._among is not None:
            sql, values = sql + FILTERED.replace("{documents}", self._among.sql), [*values, *self._among.values]
        if self._having:
            sql, values = sql + GATED, [*values, matching(self._having)]
        return sql, values

    def _cut(self, found: Scored, sql: str, values: Sequence[str | int]) -> Scored:
        """The wanted ones of the best, sorted, and the equals of the last of them."""
        if len(found) == self._limit + EQUALS and found[-1][1] == found[self._limit - 1][1]:
            found = self._rows(sql + BEST_BY_ID, (*values, self._limit))
        last = found[: self._limit][-1][1] if found else 0.0
        return [(number, -score) for number, score in found if score <= last]  # FTS5's are negative

    def _rows(self, sql: str, values: Sequence[str | int]) -> Scored:
        return self._connection.execute(sql.format(words=self._table), values).fetchall()


def having_any(connection: sqlite3.Connection, scope: int, words: Sequence[str]) -> list[int]:
    """The numbers of the chunks that have one of the words."""
    table = words_of(scope)
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"  # noqa: S608
    return [number for [number] in connection.execute(sql, (matching(words),))]


def _count(connection: sqlite3.Connection, scope: int, word: str) -> int:
    words = words_of(scope)
    sql = f"SELECT count(*) FROM {words} WHERE {words} MATCH ?"  # noqa: S608
    [count] = connection.execute(sql, (matching([word]),)).fetchone()
    return count


def _rarity(count: int, total: int) -> float:
    """The inverse document frequency, as FTS5 computes it."""
    return max(1e-6, math.log((total - count + 0.5) / (count + 0.5)) if count < total else 0.0)
