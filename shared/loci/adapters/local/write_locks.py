"""`WriteLocks` with the file locks of the operating system, which end with the process that holds them."""

import fcntl
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from loci.core.errors import Unavailable
from loci.core.identity import Owner

FILES = 64
"""The number of lock files. Names that share a file wait for each other."""
PAUSE = 0.02


class FolderWriteLocks:
    """The locks that all processes with the same data folder share."""

    def __init__(self, folder: Path, pause: Callable[[float], None] = time.sleep) -> None:
        self._folder = folder
        self._pause = pause

    @contextmanager
    def take(self, owner: Owner, name: str, seconds: float) -> Generator[bool]:
        file = self._folder / str(crc32(f"{owner.key}/{name}".encode()) % FILES)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unavailable(f"Cannot use {self._folder} ({error.strerror})", "Check its permissions") from error
        try:
            yield self._acquire(descriptor, seconds)
        finally:
            os.close(descriptor)  # releases the lock

    def _acquire(self, descriptor: int, seconds: float) -> bool:
        waited = 0.0
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if waited >= seconds:
                    return False
                self._pause(PAUSE)
                waited += PAUSE
            else:
                return True
