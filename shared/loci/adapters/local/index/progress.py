"""How far the index has come: what a cache must read to hold all that a snapshot shows."""

import sqlite3
from typing import NamedTuple


class Progress(NamedTuple):
    """The rows of all collections. Chunks are only added and removed, so these numbers only grow."""

    last_chunk: int
    first_gone: int
    """The first removal that the database still knows."""
    last_gone: int


def progress(connection: sqlite3.Connection) -> Progress:
    """The progress that the connection sees."""
    return Progress(
        *connection.execute(
            "SELECT coalesce((SELECT max(number) FROM chunk), 0), coalesce((SELECT min(number) FROM gone), 0),"
            " coalesce((SELECT max(number) FROM gone), 0)"
        ).fetchone()
    )


def removed_since(connection: sqlite3.Connection, scope: int, last_gone: int) -> list[int]:
    """The chunks of the scope that were removed after that removal."""
    found = connection.execute("SELECT chunk FROM gone WHERE scope = ? AND number > ?", (scope, last_gone))
    return [chunk for [chunk] in found]
