"""`WriteLocks` as records that expire: the lock of a dead process ends within a minute, or at its call's time limit."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from loci.core.background import FairQueues
from loci.core.deadline import time_left
from loci.core.errors import Conflict
from loci.core.identity import Owner
from loci.core.stores import ABSENT, Record, RecordStore

KIND = "turn"
"""The kind of the records. Older instances use it too, so it stays."""
LONGEST = 60.0
"""Seconds that a lock lasts. A call of the gateway ends sooner. A call with more time holds the lock for all of its
time, so that it never writes without the lock."""
PAUSE = 0.1


class RecordWriteLocks:
    """The locks that all instances with the same table share. The threads of one instance wait in a queue."""

    def __init__(
        self, records: RecordStore, clock: Callable[[], float], pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._records = records
        self._clock = clock
        self._pause = pause
        self._queues = FairQueues()

    @contextmanager
    def take(self, owner: Owner, name: str, seconds: float) -> Generator[bool]:
        began = time.monotonic()
        with self._queues.turn((owner, name), seconds) as is_first:
            left = max(0.0, seconds - (time.monotonic() - began))
            lock = self._acquire(owner, name, left) if is_first else None
            try:
                yield lock is not None
            finally:
                if lock is not None:
                    with suppress(Conflict):  # it took too long, and somebody else has the lock now
                        self._records.remove(owner, KIND, name, expect_version=lock.version)

    def _acquire(self, owner: Owner, name: str, seconds: float) -> Record | None:
        waited = 0.0
        while True:
            try:
                until = self._clock() + max(LONGEST, time_left() or 0.0)
                return self._records.put(owner, KIND, name, {}, expect_version=ABSENT, expires_at=until)
            except Conflict:
                if waited >= seconds:
                    return None
                self._pause(PAUSE)
                waited += PAUSE
