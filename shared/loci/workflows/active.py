"""Whose runs may be active: a server finds those to move on without a look at all owners or all runs."""

from collections.abc import Callable, Iterator
from typing import Final

from loci.core.identity import SYSTEM, Owner
from loci.core.json import string
from loci.core.stores import Record, RecordStore, every, readable

SLOT: Final = "workflow_slot"
"""The kind of record that each active run has."""
OWNER: Final = "workflow_owner"
DAY: Final = 24 * 3600.0
KEPT: Final = 31 * DAY
"""Seconds after its start in which a run may be active."""


class ActiveOwners:
    """Those who started a run in the last weeks."""

    def __init__(self, records: RecordStore, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock
        self._noted = dict[Owner, float]()

    def note(self, owner: Owner) -> None:
        """The owner starts a run. It is written once a day."""
        now = self._clock()
        if now < self._noted.get(owner, 0.0):
            return
        value = {"tenant": owner.tenant, "subject": owner.subject}
        self._records.put(SYSTEM, OWNER, owner.key, dict(value), expires_at=now + KEPT, durable=False)
        self._noted[owner] = now + DAY

    def __iter__(self) -> Iterator[Owner]:
        """Those who have a run that may be active."""
        for owner in readable(every(self._records, SYSTEM, OWNER), _owner):
            if self._records.list(owner, SLOT, limit=1).records:
                yield owner


def _owner(record: Record) -> Owner:
    return Owner(string(record.value["tenant"]), string(record.value["subject"]))
