"""What an executor's folders take, and how they are removed: whatever its code has made in them."""

import os
import secrets
import stat
from dataclasses import dataclass

DEEPEST = 64
"""Folders in folders. Deeper ones would have paths too long to be looked at: they are too much already."""


@dataclass(frozen=True)
class Used:
    """Bytes on the disk, and how many files and folders."""

    bytes: int
    files: int


def used(folders: tuple[str, ...], most_files: int) -> Used:
    """What lies in the folders. Past so many files, or where it cannot be looked at, it counts as too many."""
    total = files = 0
    waiting = [(one, 0) for one in folders]
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    files += 1
                    held = entry.stat(follow_symlinks=False)
                    total += held.st_blocks * 512
                    if stat.S_ISDIR(held.st_mode):
                        waiting.append((entry.path, depth + 1))
                    if files > most_files or depth > DEEPEST:
                        return Used(total, most_files + 1)
        except FileNotFoundError:  # it was just removed
            continue
        except OSError:
            return Used(total, most_files + 1)
    return Used(total, files)


def remove(folder: str) -> None:
    """The folder is gone, however deep it was. Nothing outside is touched: no link is followed."""
    while _emptied(folder):
        pass
    try:
        os.rmdir(folder)
    except OSError:
        return


def _emptied(folder: str) -> bool:
    """Take out files, and bring what lies in folders up to here; whether there is more to do."""
    is_more = False
    try:
        with os.scandir(folder) as entries:
            listed = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return False
    for path, is_folder in listed:
        try:
            if not is_folder:
                os.unlink(path)
                continue
            os.chmod(path, 0o700)
            with os.scandir(path) as below:
                inner = [(one.path, one.is_dir(follow_symlinks=False)) for one in below]
            for child, child_is_folder in inner:
                if child_is_folder:
                    os.rename(child, f"{folder}/{secrets.token_hex(8)}")
                    is_more = True
                else:
                    os.unlink(child)
            os.rmdir(path)
        except OSError:
            continue
    return is_more
