"""The tables of the local database, and the way to them from older ones. After a release, a change is a migration."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from loci.adapters.local.blobs import LEAF, MORE, key_at, place_of
from loci.adapters.local.index.vector_codes import code_of
from loci.core.errors import Misconfigured

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
        chunks INTEGER NOT NULL DEFAULT 0,
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
        bits BLOB,
        text TEXT NOT NULL,
        words TEXT NOT NULL,
        UNIQUE (scope, id)
    )
    """,
    "CREATE INDEX chunk_of_document ON chunk (document)",
    "CREATE INDEX chunk_of_model ON chunk (scope, model)",
    "CREATE INDEX chunk_hash ON chunk (hash) WHERE model IS NOT NULL",
    # Apart from the texts, so that a search reads few pages.
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
    """
    CREATE TABLE gone (  -- chunks that have been taken out
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        scope INTEGER NOT NULL,
        chunk INTEGER NOT NULL
    )
    """,
    """
    CREATE TRIGGER chunk_added AFTER INSERT ON chunk BEGIN
        UPDATE scope SET chunks = chunks + 1 WHERE number = new.scope;
    END
    """,
    """
    CREATE TRIGGER chunk_removed AFTER DELETE ON chunk BEGIN
        UPDATE scope SET chunks = chunks - 1 WHERE number = old.scope;
        INSERT INTO gone (scope, chunk) VALUES (old.scope, old.number);
        DELETE FROM vector WHERE number = old.number;
        DELETE FROM code WHERE scope = old.scope AND model = old.model AND number = old.number;
    END
    """,
    "CREATE TABLE revision (number INTEGER NOT NULL)",  # how often the index was written to
    "INSERT INTO revision (number) VALUES (0)",
)

FIRST: Final = 7
"""The version of the tables of the first release."""
MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = ()
"""The statements of each migration. Never change one that was released: add another."""
VERSION: Final = FIRST + len(MIGRATIONS)


LAST: Final = 6
"""The version of the tables before the first release. This, `convert` and `_flat_blobs` can be deleted after 0.1."""


def convert(connection: sqlite3.Connection, folder: Path) -> None:
    """Convert a data folder of the weeks before the first release, inside the caller's transaction."""
    [version] = connection.execute("PRAGMA user_version").fetchone()
    unsealed = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'unsealed'").fetchone()[0]
    if version != LAST or unsealed:
        raise Misconfigured(
            "The data folder was written by a Loci that was never released",
            "Ingest your notes and files again into a new folder: loci serve --data DIR",
        )
    connection.create_function("code_of", 1, code_of, deterministic=True)
    connection.execute(
        "INSERT OR IGNORE INTO code (scope, model, number, document, code)"
        " SELECT scope, model, number, document, code_of(vector) FROM chunk WHERE model IS NOT NULL AND vector NOT NULL"
    )
    connection.execute("INSERT OR IGNORE INTO vector SELECT number, vector FROM chunk WHERE vector NOT NULL")
    connection.execute("DROP TABLE uncoded")
    connection.execute(f"PRAGMA user_version = {FIRST}")
    for owner in filter(Path.is_dir, (folder / "blobs").glob("*")):
        for old, key in list(_flat_blobs(owner)):
            place = place_of(owner, key)
            place.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):  # it was written again since
                os.link(old, place)
            old.unlink()


def _flat_blobs(root: Path) -> Iterator[tuple[Path, str]]:
    """List the blobs whose keys have a slash but that lie flat in the owner's folder."""
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name.endswith(MORE)]
        for name in names:
            path = Path(folder, name)
            if name.endswith(LEAF) and "/" in (key := key_at(path.relative_to(root))):
                yield path, key
