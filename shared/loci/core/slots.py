"""Limits what an owner has under way at once: each thing holds a slot, a record that expires."""

from collections.abc import Callable

from loci.core.errors import Conflict, LociError
from loci.core.full_disk import freeing
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.stores import ABSENT, Record, RecordStore, every


class Slots:
    """An owner's slots. What holds one and dies holds it only until it expires."""

    def __init__(
        self, records: RecordStore, kind: str, most: int, full: Callable[[int], LociError], *, durable: bool = True
    ) -> None:
        """`full` makes the error for an owner who has no free slot. `durable`: as for a record."""
        self._records = records
        self._kind = kind
        self._most = most
        self._full = full
        self._durable = durable

    def held(self, owner: Owner) -> list[Record]:
        """The slots that are taken."""
        return [*every(self._records, owner, self._kind)]

    def take(self, owner: Owner, until: float, value: JsonObject | None = None) -> Record:
        """Take a free slot. Raises the error if the owner has none: two never get the same one."""
        taken = {slot.key for slot in self.held(owner)}
        for key in (f"{number:03}" for number in range(self._most)):
            if key not in taken:
                try:
                    return self._records.put(
                        owner,
                        self._kind,
                        key,
                        value or {},
                        expect_version=ABSENT,
                        expires_at=until,
                        durable=self._durable,
                    )
                except Conflict:  # somebody else was faster
                    continue
        raise self._full(self._most)

    @freeing()
    def give_back(self, owner: Owner, key: str, version: str) -> None:
        """Free the slot, unless something else has it by now."""
        try:
            self._records.remove(owner, self._kind, key, expect_version=version, durable=self._durable)
        except Conflict:
            return
