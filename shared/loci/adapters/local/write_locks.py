"""`WriteLocks` with the file locks of the operating system, which end with the process that holds them."""

import fcntl
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from loci.core.atomic_write import open_lock
from loci.core.background import FairQueues
from loci.core.identity import Owner
from loci.core.ids import content_id

PAUSE = 0.02
"""Seconds between two attempts at a lock that another process has. Only the first waiting thread tries."""


class FolderWriteLocks:
    """The locks that all processes with the same data folder share.

    A lock is a file of its own, which its holder removes. The threads of one process get it in the order in which they
    asked.
    """

    def __init__(self, folder: Path, pause: Callable[[float], None] = time.sleep) -> None:
        self._folder = folder
        self._pause = pause
        self._queues = FairQueues()

    @contextmanager
    def take(self, owner: Owner, name: str, seconds: float) -> Generator[bool]:
        file = self._folder / content_id(owner.key, name, length=32)
        began = time.monotonic()
        with self._queues.turn(file.name, seconds) as is_first:
            left = max(0.0, seconds - (time.monotonic() - began))
            descriptor = self._acquired(file, left) if is_first else None
            try:
                yield descriptor is not None
            finally:
                if descriptor is not None:
                    with suppress(OSError):  # a file that stays is taken again
                        file.unlink()
                    os.close(descriptor)  # releases the lock

    def _acquired(self, file: Path, seconds: float) -> int | None:
        waited = 0.0
        while True:
            descriptor = open_lock(file)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                if waited >= seconds:
                    return None
                self._pause(PAUSE)
                waited += PAUSE
            else:
                if os.fstat(descriptor).st_nlink:
                    return descriptor
                os.close(descriptor)  # the holder before removed the file: others lock a new one
