"""Files that an executor's code made: how much they take, which ones are new, and how to remove them.

The code may have made anything in its folders, so no link is ever followed.
"""

import errno
import os
import secrets
import stat
from pathlib import Path

DEEPEST = 64
"""Folders in folders. Deeper paths would be too long to look at, so they count as too many files."""
MOST_LOOKED_AT = 2_000
MOST_NAMED = 50

FileStamps = dict[str, tuple[int, int]]
"""The size and the time of the last change, by the file's name."""


def file_stamps(folder: Path) -> FileStamps:
    """The files in the folder, each with its size and when it was written."""
    found: FileStamps = {}
    waiting = [str(folder)]
    while waiting and len(found) < MOST_LOOKED_AT:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    held = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(held.st_mode):
                        waiting.append(entry.path)
                    elif stat.S_ISREG(held.st_mode):
                        found[os.path.relpath(entry.path, folder)] = (held.st_size, held.st_mtime_ns)
        except OSError:  # it has just gone, or its name is too long to be opened
            continue
    return found


def written_files(before: FileStamps, after: FileStamps) -> list[tuple[str, int]]:
    """Files that are new or changed: their printable names and their sizes."""
    new = sorted(name for name, held in after.items() if before.get(name) != held and "__pycache__" not in name)
    return [(name.encode("utf-8", "replace").decode("utf-8", "replace"), after[name][0]) for name in new[:MOST_NAMED]]


class NoSuchFileError(Exception):
    """The file does not exist, or may not be read. The text says which."""


def read_file(folder: Path, name: str, most: int) -> bytes:
    """Read a plain file of the folder, behind no link; `NoSuchFileError` if it is something else or too large.

    The code may change its folder meanwhile, so each part of the path is opened in the one before.
    """
    parts = name.split("/")
    if len(parts) > DEEPEST or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise NoSuchFileError("it is no path in the work folder")
    opened: list[int] = []
    try:
        opened.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))
        for part in parts[:-1]:
            opened.append(os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened[-1]))
        # Without O_NONBLOCK a pipe would be waited for.
        opened.append(os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=opened[-1]))
        held = os.fstat(opened[-1])
        if not stat.S_ISREG(held.st_mode):
            raise NoSuchFileError("it is no plain file")
        if held.st_size > most:
            raise NoSuchFileError(f"it has {held.st_size:,} bytes; the most is {most:,}")
        with open(os.dup(opened[-1]), "rb") as reading:
            return reading.read(most)
    except OSError as error:
        raise NoSuchFileError("there is none" if error.errno == errno.ENOENT else str(error.strerror)) from None
    finally:
        for one in opened:
            os.close(one)


def plain_file(path: Path, most: int) -> bytes:
    """The bytes of a plain file; empty if it does not exist or is larger."""
    try:
        return read_file(path.parent, path.name, most)
    except NoSuchFileError:
        return b""


def remove(folder: str) -> None:
    """Remove the folder, however deep it is. Nothing outside is touched."""
    while _emptied(folder):
        pass
    try:
        os.rmdir(folder)
    except OSError:
        return


def _emptied(folder: str) -> bool:
    """Remove files, and move up what lies in sub-folders. Return True if there is more to do."""
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
