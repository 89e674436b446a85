"""If somebody follows an owner's events. Where nothing happens beside a call, each costs time that its caller waits."""

import threading
import time
from collections.abc import Callable
from typing import Final

from loci.core.identity import Owner
from loci.core.stores import RecordStore

WANTED: Final = "events_wanted"
"""The kind of the record that says so."""
FOR_SECONDS: Final = 24 * 3600.0
"""For so long after somebody asked, all events are kept."""
RENEWED_SECONDS: Final = 600.0
LOOKED_SECONDS: Final = 10.0
"""How long an answer that nobody does is believed."""
MOST_KNOWN: Final = 1000


class Wanted:
    """Remembers in the record store that somebody asked."""

    def __init__(self, records: RecordStore, clock: Callable[[], float] = time.time) -> None:
        self._records = records
        self._clock = clock
        self._turn = threading.Lock()
        self._known: dict[Owner, tuple[bool, float]] = {}
        """If somebody asked, and until when that is believed."""

    def mark(self, owner: Owner) -> None:
        """Somebody asks now."""
        now = self._clock()
        known = self._known.get(owner)
        if known is None or not known[0] or now > known[1]:
            self._records.put(owner, WANTED, "last", {"at": now}, expires_at=now + FOR_SECONDS)
            self._keep(owner, is_wanted=True, until=now + RENEWED_SECONDS)

    def is_so(self, owner: Owner) -> bool:
        """True if somebody asked within the last day."""
        now = self._clock()
        known = self._known.get(owner)
        if known is None or now > known[1]:
            is_wanted = self._records.get(owner, WANTED, "last") is not None
            self._keep(owner, is_wanted=is_wanted, until=now + (RENEWED_SECONDS if is_wanted else LOOKED_SECONDS))
            return is_wanted
        return known[0]

    def _keep(self, owner: Owner, *, is_wanted: bool, until: float) -> None:
        with self._turn:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[owner] = is_wanted, until
