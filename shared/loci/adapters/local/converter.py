"""Takes over a data folder of the weeks before the first release. To be deleted after 0.1."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from loci.adapters.local.blobs import LEAF, MORE, key_at, place_of
from loci.adapters.local.index.vector_codes import code_of
from loci.adapters.local.migrations import FIRST
from loci.core.errors import Misconfigured

LAST: Final = 6
"""The version of the tables of the Loci before."""


def convert(connection: sqlite3.Connection, folder: Path) -> None:
    """Bring the tables and the folder of blobs to the first release, inside the caller's transaction."""
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
    """The blobs with a slash in their keys that lie flat in the owner's folder: no folder there ends in a slash."""
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name.endswith(MORE)]
        for name in names:
            path = Path(folder, name)
            if name.endswith(LEAF) and "/" in (key := key_at(path.relative_to(root))):
                yield path, key
