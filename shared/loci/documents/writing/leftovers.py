"""Removes the temporary files that killed writers left: in the folders of documents and in the data folder."""

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

OLD = 3600.0
"""Seconds. A younger file may belong to a write that goes on."""
BESIDE_DOCUMENTS = re.compile(r"\.loci-[0-9a-f]{1,32}\.tmp")
IN_DATA = re.compile(r"\.[a-z0-9_]{8}|\.(?:secret|probe)-[0-9a-f]{8}")


def sweep_roots(folders: Iterable[str], now: float) -> int:
    """Remove what writes of documents left below these folders; return how many files there were."""
    return sum(_sweep(Path(folder), BESIDE_DOCUMENTS, now) for folder in folders)


def sweep_data(data: Path, now: float) -> int:
    """Remove what writes of blobs and of the secret left in the data folder; return how many files there were."""
    return _sweep(data / "blobs", IN_DATA, now) + sum(_removed(one, IN_DATA, now) for one in _files(data))


def _sweep(folder: Path, names: re.Pattern[str], now: float) -> int:
    return sum(
        _removed(Path(here, name), names, now)
        for here, _, files in os.walk(folder)  # follows no links, and skips what cannot be read
        for name in files
    )


def _removed(file: Path, names: re.Pattern[str], now: float) -> int:
    if not names.fullmatch(file.name):
        return 0
    with suppress(OSError):
        found = file.lstat()
        if stat.S_ISREG(found.st_mode) and now - found.st_mtime > OLD:
            file.unlink()
            return 1
    return 0


def _files(folder: Path) -> list[Path]:
    try:
        return [*folder.iterdir()]
    except OSError:
        return []
