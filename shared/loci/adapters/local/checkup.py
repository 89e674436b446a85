"""Whether the embedded database is whole."""

import sqlite3
from contextlib import closing
from pathlib import Path

from loci.adapters.local.sqlite import explained, refuse_newer
from loci.core.errors import Misconfigured

MOST_FAULTS = 3


def checked(path: Path) -> str | None:
    """What it is, in words; None where there is none. Every page is read, and no table is made or changed."""
    if not path.exists():
        return None
    try:
        # `rw`: with `ro` SQLite could not use the write-ahead log that a killed process has left.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=30)) as connection:
            [version] = connection.execute("PRAGMA user_version").fetchone()
            faults = [fault for [fault] in connection.execute(f"PRAGMA quick_check({MOST_FAULTS})")]
    except sqlite3.Error as error:
        raise explained(path, error) from error
    if faults != ["ok"]:
        raise Misconfigured(f"{path} is damaged ({faults[0]})", "Restore it from a copy")
    refuse_newer(version)
    return f"{path}, {path.stat().st_size / 1e6:,.1f} MB, whole, version {version}"
