"""The files of an archive that is not whole yet: private, and for one export at a time."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from loci.core.errors import Refused
from loci.core.whole_files import PRIVATE


def paths_of(file: Path) -> tuple[Path, Path]:
    """The unfinished archive beside this file, and its journal."""
    return file.with_name(f".{file.name}.part"), file.with_name(f".{file.name}.part.jsonl")


def locked_part(file: Path) -> IO[bytes]:
    """The unfinished archive, which nobody else writes until it is closed."""
    part = paths_of(file)[0]
    while True:
        opened = private_file(part)
        try:
            with suppress(OSError):  # some disks know no locks
                try:
                    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    what = f"Another loci export writes {file} now"
                    raise Refused(what, "Wait until it has ended, or choose another name", code="BUSY") from None
            if _is_at(opened, part):
                return opened
        except BaseException:
            opened.close()
            raise
        opened.close()  # another export has finished it meanwhile


def _is_at(opened: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(opened.fileno()), path.lstat())
    except FileNotFoundError:
        return False


def private_file(path: Path) -> IO[bytes]:
    """The file, which only its owner can read."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE)
    try:
        os.fchmod(descriptor, PRIVATE)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "r+b")
