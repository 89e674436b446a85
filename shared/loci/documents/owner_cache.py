"""A cache with one result per owner, which is valid for as long as the owner's documents stay the same."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from loci.core.identity import Owner

State = TypeVar("State", bound=Hashable)
Result = TypeVar("Result")


class OwnerCache(Generic[State, Result]):
    """Keeps the last result of each owner, for the owners that used it last.

    Callers who ask for one owner at the same time wait for each other, so that they share one computation.
    """

    def __init__(self, max_owners: int) -> None:
        self._max_owners = max_owners
        self._entries: OrderedDict[Owner, tuple[threading.Lock, list[tuple[State, Result]]]] = OrderedDict()
        self._lock = threading.Lock()  # only ever held for a few dictionary operations

    def get(
        self, owner: Owner, read_state: Callable[[], State], compute: Callable[[State, Result | None], Result]
    ) -> Result:
        """Return the owner's result in their current state.

        `compute` gets that state, and the last result for another state, from which it may take what is still valid.
        """
        with self._lock:
            lock, last = self._entries.setdefault(owner, (threading.Lock(), []))
            self._entries.move_to_end(owner)
            if len(self._entries) > self._max_owners:
                self._entries.popitem(last=False)
        with lock:
            state = read_state()
            if not last or last[0][0] != state:
                last[:] = [(state, compute(state, last[0][1] if last else None))]
            return last[0][1]
