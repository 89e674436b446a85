"""`Turns` as records that expire: who dies gives its turn up a minute later."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from loci.core.errors import Conflict
from loci.core.identity import Owner
from loci.core.stores import ABSENT, Record, RecordStore

TURN = "turn"
LONGEST = 60.0
"""Seconds that a turn lasts at most. A gateway's call ends sooner, so nobody writes whose turn is over."""
PAUSE = 0.1


class RecordWriteLocks:
    """Turns of all that use the same table."""

    def __init__(
        self, records: RecordStore, clock: Callable[[], float], pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._records = records
        self._clock = clock
        self._pause = pause

    @contextmanager
    def take(self, owner: Owner, name: str, seconds: float) -> Generator[bool]:
        held = self._taken(owner, name, seconds)
        try:
            yield held is not None
        finally:
            if held is not None:
                with suppress(Conflict):  # it took too long, and somebody else has the turn
                    self._records.remove(owner, TURN, name, expect_version=held.version)

    def _taken(self, owner: Owner, name: str, seconds: float) -> Record | None:
        waited = 0.0
        while True:
            try:
                until = self._clock() + LONGEST
                return self._records.put(owner, TURN, name, {}, expect_version=ABSENT, expires_at=until)
            except Conflict:
                if waited >= seconds:
                    return None
                self._pause(PAUSE)
                waited += PAUSE
