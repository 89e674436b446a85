"""Limits the runs of an owner that other processes drive at once: each run holds a slot, which comes free by itself."""

from loci.core.errors import Conflict, Unavailable
from loci.core.identity import Owner
from loci.core.stores import ABSENT, Record, RecordStore, every

KIND = "errand"


class ErrandSlots:
    """An owner's slots: records that expire, so a run whose process died holds its slot only until it is due."""

    def __init__(self, records: RecordStore, most: int) -> None:
        self._records = records
        self._most = most

    def take(self, owner: Owner, until: float) -> Record:
        """Take a free slot. Raises `Unavailable` if the owner has none: two runs never get the same one."""
        taken = {slot.key for slot in every(self._records, owner, KIND)}
        for key in (f"{number:03}" for number in range(self._most)):
            if key not in taken:
                try:
                    return self._records.put(owner, KIND, key, {}, expect_version=ABSENT, expires_at=until)
                except Conflict:  # another run was faster
                    continue
        raise Unavailable(
            f"{self._most} runs of yours are under way, which is the most",
            "Wait for one of them to end, then call again; or do more in one run",
            code="SANDBOX_BUSY",
        )

    def give_back(self, owner: Owner, key: str, version: str) -> None:
        """Free the slot, unless another run has it by now."""
        try:
            self._records.remove(owner, KIND, key, expect_version=version)
        except Conflict:
            return
