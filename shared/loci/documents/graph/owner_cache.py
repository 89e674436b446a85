"""What was made of an owner's documents, kept for as long as they are the same."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from loci.core.identity import Owner

T = TypeVar("T")


class OwnerCache(Generic[T]):
    """Of the owners who asked last, what was made for each."""

    def __init__(self, most_owners: int) -> None:
        self._most_owners = most_owners
        self._kept: OrderedDict[Owner, tuple[Hashable, T]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, owner: Owner, state: Hashable, make: Callable[[T | None], T]) -> T:
        """What was made in that state; where the last was another one, it is made now, from that if it helps."""
        with self._lock:
            kept = self._kept.get(owner)
        if kept and kept[0] == state:
            return kept[1]
        made = make(kept and kept[1])
        with self._lock:
            self._kept[owner] = state, made
            self._kept.move_to_end(owner)
            while len(self._kept) > self._most_owners:
                self._kept.popitem(last=False)
        return made
