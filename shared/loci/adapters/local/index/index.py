"""`DocumentIndex` in SQLite: chunks, their words and their vectors in one file, each write in one transaction."""

import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import partial

from loci.adapters.batches import batches
from loci.adapters.local.index.bm25 import Bm25, having_any
from loci.adapters.local.index.tables import (
    AT_ONCE,
    COLUMNS,
    DOCUMENT,
    ChunkName,
    RowCache,
    chunk_of,
    chunks_at,
    document_condition,
    names_at,
    numbers_of,
    placeholders,
    scope_of,
    sized_scope_of,
)
from loci.adapters.local.index.vectors import MatrixKey, VectorCache
from loci.adapters.local.index.word_postings import WordPostings
from loci.adapters.local.index.writes import put_chunks, remove_chunks, remove_owner
from loci.adapters.local.sqlite import Database
from loci.core.full_disk import is_short
from loci.core.identity import Owner
from loci.search.inference import Embedding
from loci.search.ranking import Candidate, Chunk, IndexCounts, QueryVector, TagsAndDate, Where

VECTOR_MEMORY = 512 * 1024**2
"""Bytes: the codes of four million passages, or all vectors of some smaller collections."""
WORD_MEMORY = 256 * 1024**2
"""Bytes: room for forty million entries that say that a chunk has a word."""
CACHED_CHUNKS = 4096
"""About 30 MB."""
CACHED_NAMES = 8 * CACHED_CHUNKS
FEW = 500
"""Chunks that are removed at once on a full disk: the log of more would not fit."""
THREADS = ThreadPoolExecutor(thread_name_prefix="vectors")


class SqliteIndex:
    """An index in a database that other processes may use at the same time. Each search sees their writes.

    Only a search with a vector loads numpy.
    """

    def __init__(self, database: Database, word_memory: int = WORD_MEMORY) -> None:
        self._database = database
        self._bm25 = Bm25(WordPostings(word_memory))
        self._vectors = VectorCache(VECTOR_MEMORY)
        self._names = RowCache[ChunkName](CACHED_NAMES)
        self._chunks = RowCache[Chunk](CACHED_CHUNKS)

    def put(
        self,
        owner: Owner,
        collection: str,
        document: str,
        chunks: Sequence[Chunk],
        tags_and_date: TagsAndDate,
        *,
        is_new: bool = False,  # noqa: ARG002 (every write is visible at once)
    ) -> None:
        if not chunks:
            self.remove(owner, collection, document)
            return
        # A power cut may lose the last writes, but never one that came before a write that survives. So no record
        # outlives its chunks.
        with self._database.write(durable=False) as connection:
            put_chunks(connection, owner, collection, document, chunks, tags_and_date)

    def together(self) -> AbstractContextManager[None]:
        return self._database.together()

    def remove(self, owner: Owner, collection: str, document: str) -> None:
        is_more = True
        while is_more:
            with self._database.write(durable=False) as connection:
                most = FEW if is_short() else None
                is_more = remove_chunks(connection, owner, collection, document, most) and most is not None

    def remove_all(self, owner: Owner) -> None:
        with self._database.write() as connection:
            remove_owner(connection, owner)

    def embeddings(self, owner: Owner, model: str, hashes: Sequence[str]) -> dict[str, Embedding]:
        found: dict[str, Embedding] = {}
        with self._database.read() as connection:
            for some in batches(hashes, AT_ONCE):
                rows = connection.execute(
                    "SELECT hash, vector, bits FROM chunk JOIN vector USING (number)"  # noqa: S608
                    f" WHERE hash IN ({placeholders(some)}) AND model = ?"
                    " AND scope IN (SELECT number FROM scope WHERE owner = ?)",
                    (*some, model, owner.key),
                )
                found.update((hash, Embedding(model, vector, bits)) for hash, vector, bits in rows)
        return found

    def candidates(
        self,
        owner: Owner,
        collection: str,
        words: Sequence[str],
        vector: QueryVector | None,
        *,
        limit: int,
        where: Where,
    ) -> list[Candidate]:
        owner_key = owner.key
        with self._database.snapshot() as connection:
            cosines_later = rows = None
            if vector is not None:
                key = MatrixKey(owner_key, collection, vector.model, vector.dimensions)
                rows = self._vectors.rows(connection, key)
            scope, total = sized_scope_of(connection, owner_key, collection)
            among = document_condition(scope, where)
            if vector is not None and rows is not None:
                # Runs while FTS5 finds the words: the model and numpy release the interpreter lock while they work. No
                # query stands between: each one may wait for that lock until the model begins.
                cosines_later = THREADS.submit(copy_context().run, lambda: rows.against(vector.values()))
            word_scores = self._bm25.scores(
                connection, scope, total, words, limit, among, where.any_words, with_numpy=rows is not None
            )
            by_words = dict(word_scores.best)
            by_vector: dict[int, float] = {}
            cosines = cosines_later and cosines_later.result()
            if cosines is not None:
                documents = None if among is None else _column(connection, among.sql, among.values)
                having = having_any(connection, scope, where.any_words) if total and where.any_words else None
                by_vector = cosines.nearest(connection, limit, documents, having)
            others = [number for number in by_vector if number not in by_words]
            also = word_scores.scores_of(others) if others else {}
            names = self._names.get(by_words.keys() | by_vector.keys(), partial(names_at, connection))
            word_ranks, vector_ranks = _ranks(by_words, names, limit), _ranks(by_vector, names, limit)
            if cosines is not None:
                by_vector |= cosines.cosines_of(connection, list(word_ranks))
            by_words |= also
            return [
                Candidate(
                    *names[number],
                    bm25=by_words.get(number),
                    lexical_rank=word_ranks.get(number),
                    cosine=by_vector.get(number),
                    vector_rank=vector_ranks.get(number),
                )
                for number in dict.fromkeys([*word_ranks, *vector_ranks])
            ]

    def chunks(self, owner: Owner, collection: str, ids: Sequence[str]) -> dict[str, Chunk]:
        with self._database.snapshot() as connection:
            numbers = numbers_of(connection, owner, collection, ids)
            found = self._chunks.get(numbers, partial(chunks_at, connection))
            return {chunk.id: chunk for chunk in found.values()}

    def passages(self, owner: Owner, collection: str) -> Iterator[Chunk]:
        last = 0
        while True:  # page by page, so that no snapshot stays open while the caller works
            with self._database.snapshot() as connection:
                rows = connection.execute(
                    f"SELECT {COLUMNS}, {DOCUMENT}, number FROM chunk WHERE scope = ? AND number > ?"  # noqa: S608
                    " ORDER BY number LIMIT ?",
                    (scope_of(connection, owner, collection), last, AT_ONCE),
                ).fetchall()
            yield from (chunk_of(row[:-2], row[-2]) for row in rows)
            if len(rows) < AT_ONCE:
                return
            last = rows[-1][-1]

    def counts(self, owner: Owner, collection: str) -> IndexCounts:
        with self._database.snapshot() as connection:
            scope = scope_of(connection, owner, collection)
            [documents] = connection.execute("SELECT count(*) FROM document WHERE scope = ?", (scope,)).fetchone()
            by_model: dict[str | None, int] = dict(
                connection.execute("SELECT model, count(*) FROM chunk WHERE scope = ? GROUP BY model", (scope,))
            )
        embedded = {model: count for model, count in by_model.items() if model is not None}
        return IndexCounts(documents, sum(by_model.values()), embedded)

    def state(self, owner: Owner, collection: str) -> str:  # noqa: ARG002 (one number counts the writes of all collections)
        with self._database.read() as connection:
            [revision] = connection.execute("SELECT number FROM revision").fetchone()
        return str(revision)

    def documents(self, owner: Owner, collection: str, among: Sequence[str] | None = None) -> dict[str, int]:
        counted = (
            "SELECT id, (SELECT count(*) FROM chunk WHERE chunk.document = document.number)"
            " FROM document WHERE scope = ?"
        )
        found: dict[str, int] = {}
        with self._database.snapshot() as connection:
            scope = scope_of(connection, owner, collection)
            if among is None:
                found.update(connection.execute(counted, (scope,)))
            for some in batches(among or (), AT_ONCE):
                found.update(connection.execute(f"{counted} AND id IN ({placeholders(some)})", (scope, *some)))
        return {id: count for id, count in found.items() if count}


def _ranks(scores: dict[int, float], names: dict[int, ChunkName], limit: int) -> dict[int, int]:
    """The ranks of the best `limit`, counted from 1. Ties go by chunk id."""
    order = sorted(scores, key=lambda number: (-scores[number], names[number]))
    return {number: rank for rank, number in enumerate(order[:limit], 1)}


def _column(connection: sqlite3.Connection, sql: str, values: tuple[str | int, ...]) -> list[int]:
    return [value for [value] in connection.execute(sql, values)]
