"""The tables of the local database, one migration after the other."""

import sqlite3
from collections.abc import Callable
from typing import Final

from loci.adapters.local.word_tables import make_postings, make_words

Step = str | Callable[[sqlite3.Connection], object]
"""A statement, or what one statement cannot say."""

RECORDS = (
    """
    CREATE TABLE record (
        owner TEXT NOT NULL,
        kind TEXT NOT NULL,
        key BLOB NOT NULL,  -- UTF-8, so that order and prefixes are those of bytes, as in DynamoDB
        value TEXT NOT NULL,
        version TEXT NOT NULL,
        expires_at REAL,
        PRIMARY KEY (owner, kind, key)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX record_expiry ON record (expires_at) WHERE expires_at IS NOT NULL",
)

DOCUMENT_INDEX = (
    """
    CREATE TABLE scope (  -- one collection of one owner
        number INTEGER PRIMARY KEY,
        owner TEXT NOT NULL,
        collection TEXT NOT NULL,
        UNIQUE (owner, collection)
    )
    """,
    """
    CREATE TABLE document (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        scope INTEGER NOT NULL,
        id TEXT NOT NULL,
        date TEXT,
        UNIQUE (scope, id)
    )
    """,
    """
    CREATE TABLE tag (
        scope INTEGER NOT NULL,
        tag TEXT NOT NULL,
        document INTEGER NOT NULL,
        PRIMARY KEY (scope, tag, document)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX tag_of_document ON tag (document)",
    # Rows are only added and deleted, never changed, and no number is used twice. So a cache that holds all rows up to
    # a number reads only the rows after it, and which ones were deleted.
    """
    CREATE TABLE chunk (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        scope INTEGER NOT NULL,
        document INTEGER NOT NULL,
        id TEXT NOT NULL,
        hash TEXT NOT NULL,
        model TEXT,
        first_line INTEGER NOT NULL,
        last_line INTEGER NOT NULL,
        path TEXT NOT NULL,
        title TEXT NOT NULL,
        heading TEXT NOT NULL,
        vector BLOB,
        bits BLOB,
        text TEXT NOT NULL,
        words TEXT NOT NULL,
        UNIQUE (scope, id)
    )
    """,
    "CREATE INDEX chunk_of_document ON chunk (document)",
    "CREATE INDEX chunk_of_model ON chunk (scope, model)",
    "CREATE INDEX chunk_hash ON chunk (hash) WHERE model IS NOT NULL",
    """
    CREATE TABLE gone (  -- chunks that have been taken out
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        scope INTEGER NOT NULL,
        chunk INTEGER NOT NULL
    )
    """,
    # FTS5 finds the scope as a word, in the same pass as the other words. The `_` keeps it apart
    # from the words of texts: a search for one that equals a scope would be slow.
    "CREATE VIEW chunk_words AS SELECT number, words, '_' || scope AS scope FROM chunk",
    """
    CREATE VIRTUAL TABLE word USING fts5 (
        words, scope, content = 'chunk_words', content_rowid = 'number', tokenize = "ascii tokenchars '_'"
    )
    """,
    """
    CREATE TRIGGER chunk_added AFTER INSERT ON chunk BEGIN
        INSERT INTO word (rowid, words, scope) VALUES (new.number, new.words, '_' || new.scope);
    END
    """,
    """
    CREATE TRIGGER chunk_removed AFTER DELETE ON chunk BEGIN
        INSERT INTO word (word, rowid, words, scope) VALUES ('delete', old.number, old.words, '_' || old.scope);
        INSERT INTO gone (scope, chunk) VALUES (old.scope, old.number);
    END
    """,
)

REVISION = (
    "CREATE TABLE revision (number INTEGER NOT NULL)",  # how often the index was written to
    "INSERT INTO revision (number) VALUES (0)",
)


def _part_words(connection: sqlite3.Connection) -> None:
    """Give each scope that exists a table of its own words."""
    for [scope] in connection.execute("SELECT number FROM scope").fetchall():
        make_words(connection, scope)


def _list_postings(connection: sqlite3.Connection) -> None:
    """Let the words of each scope that exists be read one after the other."""
    for [scope] in connection.execute("SELECT number FROM scope").fetchall():
        make_postings(connection, scope)


def _note_unsealed(connection: sqlite3.Connection) -> None:
    """Make a table that is there while entries of tool servers may hold secrets in clear: `seal_stored` drops it."""
    if connection.execute("SELECT 1 FROM record WHERE kind = 'tool_server' LIMIT 1").fetchone():
        connection.execute("CREATE TABLE IF NOT EXISTS unsealed (since INTEGER)")


OWN_WORDS: Final[tuple[Step, ...]] = (
    "DROP TRIGGER chunk_added",
    "DROP TRIGGER chunk_removed",
    "DROP TABLE word",
    "DROP VIEW chunk_words",
    "ALTER TABLE scope ADD COLUMN chunks INTEGER NOT NULL DEFAULT 0",
    "UPDATE scope SET chunks = (SELECT count(*) FROM chunk WHERE chunk.scope = scope.number)",
    """
    CREATE TRIGGER chunk_added AFTER INSERT ON chunk BEGIN
        UPDATE scope SET chunks = chunks + 1 WHERE number = new.scope;
    END
    """,
    """
    CREATE TRIGGER chunk_removed AFTER DELETE ON chunk BEGIN
        UPDATE scope SET chunks = chunks - 1 WHERE number = old.scope;
        INSERT INTO gone (scope, chunk) VALUES (old.scope, old.number);
    END
    """,
    _part_words,
)

COMPACT_VECTORS: Final[tuple[Step, ...]] = (
    # Apart from the texts, so that a search reads few pages. `chunk.vector` is now null, except in rows of before.
    "CREATE TABLE vector (number INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    # What a start reads: one row after the other for each collection and model.
    """
    CREATE TABLE code (
        scope INTEGER NOT NULL,
        model TEXT NOT NULL,
        number INTEGER NOT NULL,
        document INTEGER NOT NULL,
        code BLOB NOT NULL,
        PRIMARY KEY (scope, model, number)
    ) WITHOUT ROWID
    """,
    "DROP TRIGGER chunk_removed",
    """
    CREATE TRIGGER chunk_removed AFTER DELETE ON chunk BEGIN
        UPDATE scope SET chunks = chunks - 1 WHERE number = old.scope;
        INSERT INTO gone (scope, chunk) VALUES (old.scope, old.number);
        DELETE FROM vector WHERE number = old.number;
        DELETE FROM code WHERE scope = old.scope AND model = old.model AND number = old.number;
    END
    """,
    # The chunks that still lack a code: those of before, which `codes` takes a portion at a time.
    "CREATE TABLE uncoded (first INTEGER NOT NULL, last INTEGER NOT NULL)",
    "INSERT INTO uncoded SELECT min(number), max(number) FROM chunk HAVING count(*) > 0",
    _list_postings,
)

UNSEALED: Final[tuple[Step, ...]] = (_note_unsealed,)

MIGRATIONS: Final[tuple[tuple[Step, ...], ...]] = (
    *(RECORDS, DOCUMENT_INDEX, REVISION, OWN_WORDS, COMPACT_VECTORS),
    UNSEALED,
)
"""The steps of each migration. Never change one that was released: add another."""
