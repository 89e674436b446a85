"""A file that keeps some of the disk free for deletions: on a full disk, a deletion must be written down, too."""

import fcntl
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from loci.core.full_disk import current_freeing

NAME = "reserve"
SIZE = 16 << 20
"""Bytes, as many as the log of the database may hold: there must be room to move all of it into the file."""
PIECE = 1 << 20


class Reserve:
    """The file. It is given up for a deletion that needs its room, and taken back at its end or before another write.

    All processes with the same data folder share it. Nobody takes it back during a deletion.
    """

    def __init__(self, folder: Path, tidy: Callable[[], None] = lambda: None) -> None:
        """`tidy` gives back what the log of a deletion takes on the disk."""
        self._file = folder / NAME
        self.tidy = tidy

    def make(self) -> None:
        """Make the file, unless that would leave less than as much again."""
        if not self._file.exists() and self._free() >= 2 * SIZE:
            self._file.touch(mode=0o600)
        self.look()

    def look(self) -> bool:
        """Call this before each write. True if it frees room, and uses what was kept for that."""
        try:
            held = self._file.stat().st_size
        except OSError:  # nobody has made it
            return False
        work = current_freeing()
        if work is None:
            if held < SIZE and self._free() >= PIECE:
                self._take()
            return False
        if not work.is_short and self._free() < SIZE:
            work.is_short = True
            opened = os.open(self._file, os.O_RDWR | os.O_CLOEXEC)
            fcntl.flock(opened, fcntl.LOCK_SH)
            work.callback(self._take)
            work.callback(os.close, opened)
            work.callback(lambda: self.tidy())
            os.truncate(self._file, 0)
        return work.is_short

    def _take(self) -> None:
        """Take as much as there is, up to the whole size."""
        with suppress(OSError), self._file.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for begin in range(file.seek(0, os.SEEK_END), SIZE, PIECE):
                size = min(PIECE, SIZE - begin)
                if sys.platform == "linux":
                    os.posix_fallocate(file.fileno(), begin, size)
                else:
                    file.write(os.urandom(size))  # no zeros: some file systems compress what is written
                    file.flush()

    def _free(self) -> int:
        return shutil.disk_usage(self._file.parent).free
