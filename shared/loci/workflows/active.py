"""The active runs: each has a slot. A server finds those to move on without a look at all owners or all runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, cast

from loci.core.errors import LociError
from loci.core.identity import SYSTEM, Owner
from loci.core.json import JsonObject, string
from loci.core.stores import Record, RecordStore, Slots, every, readable
from loci.workflows.run import ENDED, Lease, Run
from loci.workflows.runs import ALIVE, Runs

SLOT: Final = "workflow_slot"
"""The kind of record that each active run has."""
ASIDE: Final = "workflow_waiting"
"""The kind instead, for some of those that wait for a decision."""
OWNER: Final = "workflow_owner"
DAY: Final = 24 * 3600.0
KEPT: Final = 31 * DAY
"""Seconds after its start in which a run may be active."""
STORED_SECONDS: Final = 60.0
"""Seconds after which a slot without a run is free again."""


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
            if any(self._records.list(owner, kind, limit=1).records for kind in (SLOT, ASIDE)):
                yield owner


class ActiveRuns:
    """The slots of the runs that have not ended."""

    def __init__(
        self, slots: Slots, aside: Slots, owners: ActiveOwners, runs: Runs, clock: Callable[[], float]
    ) -> None:
        """`aside`: for runs that wait for a decision while `slots` are short."""
        self._slots = slots
        self._aside = aside
        self._owners = owners
        self._runs = runs
        self._clock = clock

    def begin(self, owner: Owner, id: str) -> tuple[str, str]:
        """Take a slot for one more run. Those of runs that are over come free first."""
        now = self._clock()
        value: JsonObject = {"run": id, "at": now}
        self._owners.note(owner)
        try:
            slot = self._slots.take(owner, now + ALIVE, value)
        except LociError:
            self._set_aside(owner)
            slot = self._slots.take(owner, now + ALIVE, value)
        return slot.key, slot.version

    def end(self, owner: Owner, run: Run) -> None:
        """Give the run's slot back."""
        if run.slot is not None:
            self._slots.give_back(owner, *run.slot)

    def states(self, owner: Owner) -> dict[str, tuple[str, Lease | None]]:
        """The statuses and leases of the active runs, by their ids. The slots of those that are over come free."""
        moving, aside = _by_run(self._slots.held(owner)), _by_run(self._aside.held(owner))
        states = self._runs.states(owner, [*{**moving, **aside}])
        for slots, held in ((self._slots, moving), (self._aside, aside)):
            self._free_ended(owner, slots, held, states)
        return states

    def _set_aside(self, owner: Owner) -> None:
        """Move the runs that wait for a decision to places of their own: no other run waits for theirs."""
        states = self.states(owner)
        for id, slot in _by_run(self._slots.held(owner)).items():
            if id in states and states[id][0] == "paused":
                self._aside.take(owner, self._clock() + ALIVE, slot.value)
                self._slots.give_back(owner, slot.key, slot.version)

    def _free_ended(
        self, owner: Owner, slots: Slots, held: Mapping[str, Record], states: Mapping[str, tuple[str, object]]
    ) -> None:
        """Free the slots of runs that have ended, expired or are damaged. A run is stored soon after its slot."""
        for id, slot in held.items():
            is_new = self._clock() - float(cast("float", slot.value.get("at", 0))) < STORED_SECONDS
            if states[id][0] in ENDED if id in states else not is_new:
                slots.give_back(owner, slot.key, slot.version)


def _by_run(slots: Iterable[Record]) -> dict[str, Record]:
    return {str(slot.value.get("run") or slot.key): slot for slot in slots}


def _owner(record: Record) -> Owner:
    return Owner(string(record.value["tenant"]), string(record.value["subject"]))
