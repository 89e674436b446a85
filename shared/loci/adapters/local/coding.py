"""Gives the vectors that older versions wrote their codes: a portion a transaction, so that others may write too."""

import sqlite3

from loci.adapters.local.vector_codes import code_of

PORTION = 5_000
"""Chunks: about a second, if they must come from the disk."""


def code_some(connection: sqlite3.Connection) -> bool:
    """Write the codes of the next portion; False if none is left. Goes on where it stopped, or was stopped."""
    left = connection.execute("SELECT first, last FROM uncoded").fetchone()
    if left is None:
        return False
    first, last = left
    connection.create_function("code_of", 1, code_of, deterministic=True)
    connection.execute(
        "INSERT OR IGNORE INTO code (scope, model, number, document, code)"
        " SELECT scope, model, number, document, code_of(CAST(vector AS BLOB)) FROM chunk"
        " WHERE number BETWEEN ? AND ? AND model IS NOT NULL AND vector IS NOT NULL",
        (first, min(last, first + PORTION - 1)),
    )
    if first + PORTION > last:
        connection.execute("DELETE FROM uncoded")
    else:
        connection.execute("UPDATE uncoded SET first = ?", (first + PORTION,))
    return True
