"""Which documents an owner has read of late, and what they said then."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.core.stores import RecordStore, every

READ: Final = "read"
SECONDS: Final = 30 * 86_400.0
AGAIN: Final = 86_400.0
"""Whoever reads a document again within a day need not be noted again."""
REMEMBERED: Final = 1000


class RecentlyRead:
    """Marks of reading: one record a document, which expires."""

    def __init__(self, records: RecordStore, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock
        self._noted: OrderedDict[tuple[Owner, str], tuple[str, float]] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, owner: Owner, id: str, sha256: str) -> None:
        """The owner has read the document as it is now. Where that cannot be kept, it is forgotten."""
        now = self._clock()
        with self._lock:
            said, at = self._noted.get((owner, id), ("", 0.0))
            if said == sha256 and now - at < AGAIN:
                return
            self._noted[owner, id] = sha256, now
            self._noted.move_to_end((owner, id))
            while len(self._noted) > REMEMBERED:
                self._noted.popitem(last=False)
        try:
            self._records.put(owner, READ, id, {"sha256": sha256}, expires_at=now + SECONDS, durable=False)
        except Unavailable:  # a document can be read where nothing can be written
            with self._lock:
                self._noted.pop((owner, id), None)

    def of(self, owner: Owner) -> Mapping[str, str]:
        """What each document said, as its hash, when it was read last."""
        return {record.key: str(record.value["sha256"]) for record in every(self._records, owner, READ)}
