"""Which files a run wrote: looked at from outside, without following a link."""

import os
import stat
from pathlib import Path

MOST_LOOKED_AT = 2_000
MOST_TOLD = 50

Seen = dict[str, tuple[int, int]]


def seen(folder: Path) -> Seen:
    """The files in the folder, each with its size and when it was written."""
    found: Seen = {}
    waiting = [str(folder)]
    while waiting and len(found) < MOST_LOOKED_AT:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    told = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(told.st_mode):
                        waiting.append(entry.path)
                    elif stat.S_ISREG(told.st_mode):
                        found[os.path.relpath(entry.path, folder)] = (told.st_size, told.st_mtime_ns)
        except OSError:  # it has just gone, or its name is too long to be opened
            continue
    return found


def written(before: Seen, after: Seen) -> list[tuple[str, int]]:
    """What is there now and was not, or was another: names that can be printed, and sizes."""
    new = sorted(name for name, told in after.items() if before.get(name) != told and "__pycache__" not in name)
    return [(name.encode("utf-8", "replace").decode("utf-8", "replace"), after[name][0]) for name in new[:MOST_TOLD]]
