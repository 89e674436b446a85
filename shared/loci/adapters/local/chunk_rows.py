"""Chunks as rows of the database."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from loci.adapters.batches import batches
from loci.adapters.local.conditions import marks
from loci.search.ranking import Chunk, Embedding

AT_ONCE = 500
"""SQLite takes a bounded number of parameters."""

COLUMNS = "id, path, title, heading, first_line, last_line, text, hash, words, model, vector, bits"
DOCUMENT = "(SELECT id FROM document WHERE number = chunk.document)"
Name = tuple[str, str]
"""The id of a chunk, and that of its document."""
Row = tuple[str, str, str, str, int, int, str, str, str, str | None, bytes | None, bytes | None]


def chunks_at(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, Chunk]:
    """The chunks of these numbers."""
    rows = _rows_at(connection, numbers, f"{COLUMNS}, {DOCUMENT}, number")
    return {row[-1]: chunk_of(row[:-2], row[-2]) for row in rows}


def names_at(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, Name]:
    """What they and their documents are called."""
    rows = _rows_at(connection, numbers, f"number, id, {DOCUMENT}")
    return {number: (chunk, document) for number, chunk, document in rows}


def _rows_at(connection: sqlite3.Connection, numbers: Sequence[int], columns: str) -> Iterator[Any]:
    for some in batches(numbers, AT_ONCE):
        yield from connection.execute(f"SELECT {columns} FROM chunk WHERE number IN ({marks(some)})", some)  # noqa: S608


def row_of(chunk: Chunk) -> Row:
    """As it is stored."""
    heading = json.dumps(chunk.heading, ensure_ascii=False)
    above = chunk.id, chunk.path, chunk.title, heading
    below = chunk.first_line, chunk.last_line, chunk.text, chunk.hash, chunk.words
    if chunk.embedding is None:
        return (*above, *below, None, None, None)
    return (*above, *below, chunk.embedding.model, chunk.embedding.vector, chunk.embedding.bits)


def chunk_of(row: Row, document: str) -> Chunk:
    """As it was stored."""
    id, path, title, heading, first, last, text, hash, words, model, vector, bits = row
    embedding = None if model is None or vector is None or bits is None else Embedding(model, vector, bits)
    return Chunk(id, document, path, title, tuple(json.loads(heading)), first, last, text, hash, words, embedding)
