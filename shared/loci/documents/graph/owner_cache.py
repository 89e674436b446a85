"""A cache with one result per owner, which is valid for as long as the owner's documents stay the same."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from loci.core.identity import Owner

State = TypeVar("State", bound=Hashable)
Result = TypeVar("Result")


@dataclass(slots=True)
class _Entry(Generic[State, Result]):
    lock: threading.Lock = field(default_factory=threading.Lock)
    kept: tuple[State, Result] | None = None


class OwnerCache(Generic[State, Result]):
    """Keeps the last result of each owner, for the owners who asked last.

    Callers who ask for one owner at the same time wait for each other, so that they share one computation.
    """

    def __init__(self, max_owners: int) -> None:
        self._max_owners = max_owners
        self._entries: OrderedDict[Owner, _Entry[State, Result]] = OrderedDict()
        self._lock = threading.Lock()  # only ever held for a few dictionary operations

    def get(
        self,
        owner: Owner,
        read_state: Callable[[], State],
        compute: Callable[[State, Result | None], Result],
    ) -> Result:
        """Return the owner's result in their current state.

        `compute` gets that state, and the last result for another state, from which it may take what is still valid.
        """
        with self._lock:
            entry = self._entries.setdefault(owner, _Entry())
            self._entries.move_to_end(owner)
            if len(self._entries) > self._max_owners:
                self._entries.popitem(last=False)
        with entry.lock:
            state = read_state()
            if entry.kept is None or entry.kept[0] != state:
                entry.kept = state, compute(state, entry.kept and entry.kept[1])
            return entry.kept[1]
