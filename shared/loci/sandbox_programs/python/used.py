"""What an executor's folders take."""

import os
import stat
from dataclasses import dataclass


@dataclass(frozen=True)
class Used:
    """Bytes on the disk, and how many files and folders."""

    bytes: int
    files: int


def used(folders: tuple[str, ...], most_files: int) -> Used:
    """What lies in the folders. Past so many files it no longer counts: it is too much already."""
    total = files = 0
    waiting = list(folders)
    while waiting and files <= most_files:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    files += 1
                    if files > most_files:
                        break
                    held = entry.stat(follow_symlinks=False)
                    total += held.st_blocks * 512
                    if stat.S_ISDIR(held.st_mode):
                        waiting.append(entry.path)
        except OSError:  # it was just removed
            continue
    return Used(total, files)
