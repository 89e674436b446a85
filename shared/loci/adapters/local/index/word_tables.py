"""The words of each scope, in a table of FTS5 of its own.

FTS5 weighs a word by how many rows of its table have it. If all owners shared one, scores would tell what others write.
"""

import sqlite3
from collections.abc import Sequence

# One word more in each chunk: the table for all owners, before this one, had the scope there, and the length counts.
INDEXED = "words || ' _'"


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
    """Make that table. It shows what the scope's table holds, and stores nothing."""
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {postings_of(scope)} USING fts5vocab({words_of(scope)}, instance)"
    )


def add_words(connection: sqlite3.Connection, scope: int, document: int, after: int) -> None:
    """Add those of the document's chunks whose numbers are greater than `after`."""
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
