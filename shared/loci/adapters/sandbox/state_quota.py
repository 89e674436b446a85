"""The bytes of saved variables that each owner has, counted while they are written."""

import threading
from collections import Counter
from dataclasses import dataclass, field

from loci.core.identity import Owner

OF_AN_OWNER = 8 << 30
"""Bytes of saved variables of all executors of an owner."""


@dataclass(slots=True)
class _OwnerBytes:
    saved: dict[str, int]
    """Of each executor's last snapshot."""
    written: Counter[str] = field(default_factory=Counter[str])
    """Of each executor whose snapshot is being written."""
    writers: int = 0

    def room(self, id: str, most: int) -> int:
        """An executor that is written replaces what it had."""
        others = sum(size for one, size in self.saved.items() if one != id and one not in self.written)
        return most - others - self.written.total()


class StateQuota:
    """Counts what is being written beside what is saved. Any thread may call."""

    def __init__(self, most: int = OF_AN_OWNER) -> None:
        self.most = most
        self._turn = threading.Lock()
        self._owners: dict[str, _OwnerBytes] = {}

    def begin(self, owner: Owner, id: str, saved: dict[str, int]) -> int:
        """Begin to write an executor's variables. Return the bytes for which there is room.

        `saved` has the sizes of the owner's snapshots. It does not count while others of the owner are being written.
        """
        with self._turn:
            held = self._owners.setdefault(owner.key, _OwnerBytes(saved))
            held.writers += 1
            return max(0, held.room(id, self.most))

    def take(self, owner: Owner, id: str, size: int) -> bool:
        """Count bytes that are about to be written. False if the owner has no room for them."""
        with self._turn:
            held = self._owners[owner.key]
            if id not in held.written:
                held.written[id] = 0
            if held.room(id, self.most) < size:
                return False
            held.written[id] += size
            return True

    def end(self, owner: Owner, id: str, size: int | None) -> None:
        """End writing: the executor's snapshot has this size now, or, with None, is the one that it had."""
        with self._turn:
            held = self._owners[owner.key]
            held.written.pop(id, None)
            if size is not None:
                held.saved[id] = size
            held.writers -= 1
            if not held.writers:
                del self._owners[owner.key]
