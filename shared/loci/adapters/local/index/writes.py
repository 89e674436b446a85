"""Writes documents into the SQLite index, inside the caller's transaction."""

import sqlite3
from collections.abc import Sequence

from loci.adapters.local.index.tables import (
    COLUMNS,
    STORED,
    ChunkRow,
    add_words,
    make_postings,
    make_words,
    remove_words,
    row_of,
    scope_of,
    words_of,
)
from loci.adapters.local.index.vector_codes import code_of
from loci.core.identity import Owner
from loci.search.ranking import Chunk, TagsAndDate

MOST_GONE = 100_000
"""Removals that the database remembers. A process that missed more of them loads all vectors again."""

REVISED = "UPDATE revision SET number = number + 1"


def put_chunks(
    connection: sqlite3.Connection,
    owner: Owner,
    collection: str,
    document: str,
    chunks: Sequence[Chunk],
    tags_and_date: TagsAndDate,
) -> None:
    """Replace all chunks of the document by these."""
    connection.execute(REVISED)
    scope = _made_scope(connection, owner, collection)
    number = _put_document(connection, scope, document, tags_and_date)
    new = {chunk.id: row_of(chunk) for chunk in chunks}
    held = connection.execute(f"SELECT {COLUMNS}, number FROM chunk WHERE document = ?", (number,))  # noqa: S608
    gone: list[int] = []
    last = 0
    for *row, place in held:
        last = max(last, place)
        if new.get(row[0]) == tuple(row):
            del new[row[0]]
        else:
            gone.append(place)
    _remove_chunks(connection, scope, gone)
    for row in new.values():
        _add_chunk(connection, scope, number, row)
    add_words(connection, scope, number, last)


def remove_chunks(
    connection: sqlite3.Connection, owner: Owner, collection: str, document: str, most: int | None = None
) -> bool:
    """Remove the document with its chunks, or, with `most`, that many chunks; True if there was something to remove."""
    scope = scope_of(connection, owner, collection)
    found = connection.execute("SELECT number FROM document WHERE scope = ? AND id = ?", (scope, document)).fetchone()
    if scope is None or found is None:
        return False
    connection.execute(REVISED)
    held = connection.execute("SELECT number FROM chunk WHERE document = ? LIMIT ?", (*found, most or -1)).fetchall()
    _remove_chunks(connection, scope, [number for [number] in held])
    if len(held) == most:
        return True
    connection.execute("DELETE FROM tag WHERE document = ?", found)
    connection.execute("DELETE FROM document WHERE number = ?", found)
    return True


def remove_owner(connection: sqlite3.Connection, owner: Owner) -> None:
    """Remove all chunks of the owner. The numbers of the owner's scopes are not used again: caches go by them."""
    for [scope] in connection.execute("SELECT number FROM scope WHERE owner = ?", (owner.key,)).fetchall():
        connection.execute(REVISED)
        words = words_of(scope)
        connection.execute(f"INSERT INTO {words} ({words}) VALUES ('delete-all')")  # noqa: S608
        for table in ("chunk", "tag", "document"):
            connection.execute(f"DELETE FROM {table} WHERE scope = ?", (scope,))  # noqa: S608
        connection.execute("UPDATE scope SET owner = '', collection = ? WHERE number = ?", (str(scope), scope))


def _made_scope(connection: sqlite3.Connection, owner: Owner, collection: str) -> int:
    scope = scope_of(connection, owner, collection)
    if scope is None:
        [scope] = connection.execute(
            "INSERT INTO scope (owner, collection) VALUES (?, ?) RETURNING number", (owner.key, collection)
        ).fetchone()
        make_words(connection, scope)
        make_postings(connection, scope)
    return scope


def _add_chunk(connection: sqlite3.Connection, scope: int, document: int, row: ChunkRow) -> None:
    *above, model, vector, bits = row
    place = connection.execute(
        f"INSERT INTO chunk (scope, document, {STORED}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",  # noqa: S608
        (scope, document, *above, model, bits),
    ).lastrowid
    if vector is None:
        return
    connection.execute("INSERT INTO vector (number, vector) VALUES (?, ?)", (place, vector))
    connection.execute(
        "INSERT INTO code (scope, model, number, document, code) VALUES (?, ?, ?, ?, ?)",
        (scope, model, place, document, code_of(vector)),
    )


def _put_document(connection: sqlite3.Connection, scope: int, document: str, tags_and_date: TagsAndDate) -> int:
    """The number of the document's row, which has these tags and this date now."""
    [number] = connection.execute(
        "INSERT INTO document (scope, id, date) VALUES (?, ?, ?)"
        " ON CONFLICT (scope, id) DO UPDATE SET date = excluded.date RETURNING number",
        (scope, document, tags_and_date.date),
    ).fetchone()
    connection.execute("DELETE FROM tag WHERE document = ?", (number,))
    tags = ((scope, tag, number) for tag in dict.fromkeys(tags_and_date.tags))
    connection.executemany("INSERT INTO tag (scope, tag, document) VALUES (?, ?, ?)", tags)
    return number


def _remove_chunks(connection: sqlite3.Connection, scope: int, numbers: list[int]) -> None:
    for number in numbers:
        remove_words(connection, scope, number)
        connection.execute("DELETE FROM chunk WHERE number = ?", (number,))
    if numbers:
        connection.execute("DELETE FROM gone WHERE number <= (SELECT max(number) FROM gone) - ?", (MOST_GONE,))
