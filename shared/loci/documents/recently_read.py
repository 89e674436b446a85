"""The documents that an owner has read lately."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import string
from loci.core.stores import Record, RecordStore, every, readable

READ: Final = "read"
KEPT_SECONDS: Final = 30 * 86_400.0
REPEAT_SECONDS: Final = 86_400.0
"""A second reading of the same text within a day is not written again."""
MAX_REMEMBERED: Final = 1000


class RecentlyRead:
    """Remembers which documents an owner reads: one record a document, which expires."""

    def __init__(self, records: RecordStore, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock
        self._noted: OrderedDict[tuple[Owner, str], tuple[str, float]] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, owner: Owner, id: str, sha256: str) -> None:
        """Remember that the owner read the document with this hash. If the store is unavailable, skip it."""
        now = self._clock()
        with self._lock:
            last_sha256, at = self._noted.get((owner, id), ("", 0.0))
            if last_sha256 == sha256 and now - at < REPEAT_SECONDS:
                return
            self._noted[owner, id] = sha256, now
            self._noted.move_to_end((owner, id))
            while len(self._noted) > MAX_REMEMBERED:
                self._noted.popitem(last=False)
        try:
            self._records.put(owner, READ, id, {"sha256": sha256}, expires_at=now + KEPT_SECONDS, durable=False)
        except LociError:  # reading a document must not fail because a write does
            with self._lock:
                self._noted.pop((owner, id), None)

    def hashes(self, owner: Owner) -> Mapping[str, str]:
        """The hash of each document at its last reading, by the document's id."""
        return dict(readable(every(self._records, owner, READ), hash_of_reading))


def hash_of_reading(record: Record) -> tuple[str, str]:
    """The id of a document that was read, and its hash at that time."""
    return record.key, string(record.value["sha256"])
