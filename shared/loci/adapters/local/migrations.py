"""The tables of the embedded database, step by step."""

from typing import Final

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
    # Never changed, only added and taken out; no number comes twice. So whoever knows all up to a number, and which
    # have gone, asks for what came after.
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
    # The scope is found as a word, in the same pass as the others. With `_` it is none that a text has: it would make
    # that one slow.
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

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (RECORDS, DOCUMENT_INDEX, REVISION)
"""The statements of each step. A step that was released is never changed: what comes later is another step."""
