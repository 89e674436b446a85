"""The tables of the SQLite index: scopes, chunks as rows, `Where` as SQL, the words of each scope, and the progress.

The words of each scope are in a table of FTS5 of its own. FTS5 weighs a word by how many rows of its table have it. If
all owners shared one, scores would tell what others write.
"""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from loci.adapters.batches import batches
from loci.core.identity import Owner
from loci.search.inference import Embedding
from loci.search.ranking import Chunk, Where

AT_ONCE = 500
"""Parameters of one statement. SQLite limits their number."""

VECTOR = "(SELECT vector FROM vector WHERE vector.number = chunk.number)"
COLUMNS = f"id, path, title, heading, first_line, last_line, text, hash, words, model, {VECTOR}, bits"
STORED = "id, path, title, heading, first_line, last_line, text, hash, words, model, bits"
DOCUMENT = "(SELECT id FROM document WHERE number = chunk.document)"
ChunkName = tuple[str, str]
"""The id of a chunk and the id of its document."""
ChunkRow = tuple[str, str, str, str, int, int, str, str, str, str | None, bytes | None, bytes | None]
# One word more in each chunk: the table for all owners, before this one, had the scope there, and the length counts.
INDEXED = "words || ' _'"


def scope_of(connection: sqlite3.Connection, owner: Owner, collection: str) -> int | None:
    """The number of the collection's scope; None if it has never had a document."""
    found = connection.execute(
        "SELECT number FROM scope WHERE owner = ? AND collection = ?", (owner.key, collection)
    ).fetchone()
    return found and found[0]


def sized_scope_of(connection: sqlite3.Connection, owner_key: str, collection: str) -> tuple[int, int]:
    """The number of the collection's scope, and of its chunks; zeros if it has never had a document."""
    found = connection.execute(
        "SELECT number, chunks FROM scope WHERE owner = ? AND collection = ?", (owner_key, collection)
    ).fetchone()
    return found or (0, 0)


def numbers_of(connection: sqlite3.Connection, owner: Owner, collection: str, ids: Sequence[str]) -> list[int]:
    """The numbers of the rows that have the chunks with these ids."""
    found = connection.execute(
        "SELECT number FROM chunk WHERE scope = (SELECT number FROM scope WHERE owner = ? AND collection = ?)"
        # One parameter, however many ids there are: SQLite limits their number.
        " AND id IN (SELECT value FROM json_each(?))",
        (owner.key, collection, json.dumps(ids)),
    )
    return [number for [number] in found]


def chunks_at(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, Chunk]:
    """The chunks in the rows with these numbers."""
    rows = _rows_at(connection, numbers, f"{COLUMNS}, {DOCUMENT}, number")
    return {row[-1]: chunk_of(row[:-2], row[-2]) for row in rows}


def names_at(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, ChunkName]:
    """The names of the chunks in the rows with these numbers."""
    rows = _rows_at(connection, numbers, f"number, id, {DOCUMENT}")
    return {number: (chunk, document) for number, chunk, document in rows}


def _rows_at(connection: sqlite3.Connection, numbers: Sequence[int], columns: str) -> Iterator[Any]:
    for some in batches(numbers, AT_ONCE):
        sql = f"SELECT {columns} FROM chunk WHERE number IN ({placeholders(some)})"  # noqa: S608
        yield from connection.execute(sql, some)


def row_of(chunk: Chunk) -> ChunkRow:
    """The chunk as `COLUMNS` read it."""
    heading = json.dumps(chunk.heading, ensure_ascii=False)
    above = chunk.id, chunk.path, chunk.title, heading
    below = chunk.first_line, chunk.last_line, chunk.text, chunk.hash, chunk.words
    if chunk.embedding is None:
        return (*above, *below, None, None, None)
    return (*above, *below, chunk.embedding.model, chunk.embedding.vector, chunk.embedding.bits)


def chunk_of(row: ChunkRow, document: str) -> Chunk:
    """The stored chunk."""
    id, path, title, heading, first, last, text, hash, words, model, vector, bits = row
    embedding = None if model is None or vector is None or bits is None else Embedding(model, vector, bits)
    return Chunk(id, document, path, title, tuple(json.loads(heading)), first, last, text, hash, words, embedding)


@dataclass(frozen=True, slots=True)
class DocumentCondition:
    """A SELECT of the numbers of the documents that a search may find."""

    sql: str
    values: tuple[str | int, ...]


def document_condition(scope: int, where: Where) -> DocumentCondition | None:
    """The documents of the scope that meet the conditions; None if no condition is set."""
    clauses: list[tuple[str, tuple[str | int, ...]]] = []
    tagged = "SELECT document FROM tag WHERE scope = ? AND tag"
    # One parameter, however many they are: SQLite limits their number.
    if where.documents:
        clauses.append(("id IN (SELECT value FROM json_each(?))", (json.dumps(where.documents),)))
    if where.no_documents:
        clauses.append(("id NOT IN (SELECT value FROM json_each(?))", (json.dumps(where.no_documents),)))
    if where.any_tags:
        clauses.append((f"number IN ({tagged} IN ({placeholders(where.any_tags)}))", (scope, *where.any_tags)))
    clauses.extend((f"number IN ({tagged} = ?)", (scope, tag)) for tag in where.all_tags)
    if where.no_tags:
        clauses.append((f"number NOT IN ({tagged} IN ({placeholders(where.no_tags)}))", (scope, *where.no_tags)))
    if where.since is not None:
        clauses.append(("date >= ?", (where.since,)))
    if where.until is not None:
        clauses.append(("date <= ?", (where.until,)))
    if not clauses:
        return None
    conditions = " AND ".join(["scope = ?", *(sql for sql, _ in clauses)])
    return DocumentCondition(
        f"SELECT number FROM document WHERE {conditions}",  # noqa: S608 (made only of the clauses above)
        (scope, *(value for _, values in clauses for value in values)),
    )


def placeholders(values: Sequence[object]) -> str:
    """A question mark for each value."""
    return ",".join("?" * len(values))


Row = TypeVar("Row")


class RowCache(Generic[Row]):
    """The rows that were read last, by number. They never go stale: a number never stands for another row."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._newer: dict[int, Row] = {}
        self._older: dict[int, Row] = {}
        self._lock = threading.Lock()

    def get(self, numbers: Iterable[int], read: Callable[[Sequence[int]], dict[int, Row]]) -> dict[int, Row]:
        """The rows with these numbers. `read` reads rows that are not cached, and leaves out rows that are gone."""
        wanted = list(numbers)
        with self._lock:
            found = {one: row for one in wanted if (row := self._newer.get(one) or self._older.get(one)) is not None}
        missing = [one for one in wanted if one not in found]
        if missing:
            found |= read(missing)
        with self._lock:
            if len(self._newer) + len(found) > self._half:
                self._older, self._newer = self._newer, {}
            self._newer |= found
        return found


def words_of(scope: int) -> str:
    """The name of the scope's table."""
    return f"word_{scope}"


def matching(words: Sequence[str]) -> str:
    """The question of FTS5 for chunks with one of the words. Any character is safe."""
    return " OR ".join('"' + word.replace("\0", " ").replace('"', '""') + '"' for word in words)


def make_words(connection: sqlite3.Connection, scope: int) -> None:
    """Make the scope's table, with the words of the chunks that are there."""
    table = words_of(scope)
    # FTS5 reads the view only to check the table or to fill it anew.
    view = f"SELECT number, {INDEXED} AS words FROM chunk WHERE scope = {scope}"  # noqa: S608
    connection.execute(f"CREATE VIEW {table}_now AS {view}")
    connection.execute(
        f"CREATE VIRTUAL TABLE {table} USING fts5"
        f" (words, content = '{table}_now', content_rowid = 'number', tokenize = \"ascii tokenchars '_'\")"
    )
    connection.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")  # noqa: S608


def postings_of(scope: int) -> str:
    """The name of the table that has each place of each word."""
    return f"{words_of(scope)}_at"


def make_postings(connection: sqlite3.Connection, scope: int) -> None:
    """Make that table. It is a view of the scope's table, and stores nothing."""
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {postings_of(scope)} USING fts5vocab({words_of(scope)}, instance)"
    )


def add_words(connection: sqlite3.Connection, scope: int, document: int, after: int) -> None:
    """Add the words of the document's chunks whose numbers are greater than `after`."""
    connection.execute(
        f"INSERT INTO {words_of(scope)} (rowid, words)"  # noqa: S608
        f" SELECT number, {INDEXED} FROM chunk WHERE document = ? AND number > ?",
        (document, after),
    )


def remove_words(connection: sqlite3.Connection, scope: int, chunk: int) -> None:
    """Remove the words of a chunk that is still there."""
    table = words_of(scope)
    connection.execute(
        f"INSERT INTO {table} ({table}, rowid, words)"  # noqa: S608
        f" SELECT 'delete', number, {INDEXED} FROM chunk WHERE number = ?",
        (chunk,),
    )


class IndexProgress(NamedTuple):
    """The rows of all collections. Chunks are only added and removed, so these numbers only grow."""

    last_chunk: int
    first_gone: int
    """The first removal that the database still knows."""
    last_gone: int


def progress(connection: sqlite3.Connection) -> IndexProgress:
    """The progress that the connection sees."""
    return IndexProgress(
        *connection.execute(
            "SELECT coalesce((SELECT max(number) FROM chunk), 0), coalesce((SELECT min(number) FROM gone), 0),"
            " coalesce((SELECT max(number) FROM gone), 0)"
        ).fetchone()
    )


def removed_since(connection: sqlite3.Connection, scope: int, last_gone: int) -> list[int]:
    """The chunks of the scope that were removed after that removal."""
    found = connection.execute("SELECT chunk FROM gone WHERE scope = ? AND number > ?", (scope, last_gone))
    return [chunk for [chunk] in found]
