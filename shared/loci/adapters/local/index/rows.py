"""The rows of the SQLite index: chunks as rows, `Where` as SQL, and a cache of the rows that were read last."""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from loci.adapters.batches import batches
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
        """The rows with these numbers. `read` reads those that are not cached, and leaves out those that are gone."""
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
