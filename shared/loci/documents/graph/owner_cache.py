"""A cache with one result per owner, which is valid for as long as the owner's documents stay the same."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import count
from typing import Generic, TypeVar

from loci.core.identity import Owner

State = TypeVar("State", bound=Hashable)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[State, Result]):
    state: State
    state_read_by: int
    """The moment by which the state had been read."""
    result: Result


class OwnerCache(Generic[State, Result]):
    """Keeps the last result of each owner, for the owners who asked last.

    Callers who ask for one owner in one state at the same time share one computation: the first one computes, the
    others wait. If it fails, it fails for all of them, and the next caller tries again. Nobody waits for another owner
    or for another state.
    """

    def __init__(self, max_owners: int) -> None:
        self._max_owners = max_owners
        self._entries: OrderedDict[Owner, _Entry[State, Result]] = OrderedDict()
        self._running: dict[tuple[Owner, State], Future[Result]] = {}
        self._lock = threading.Lock()  # only ever held for a few dictionary operations
        self._moments = count()

    def get(
        self,
        owner: Owner,
        read_state: Callable[[], State],
        compute: Callable[[State, Result | None], Result],
    ) -> Result:
        """Return the owner's result in their current state.

        `compute` gets that state, and the last result for another state, from which it may take what is still valid.
        The cache reads the state itself: that is how it knows which of two states is the newer one.
        """
        asked_at = next(self._moments)
        state = read_state()
        with self._lock:
            entry = self._entries.get(owner)
            if entry and entry.state == state:
                self._entries.move_to_end(owner)
                return entry.result
            state_read_by = next(self._moments)
            mine = Future[Result]()
            running = self._running.setdefault((owner, state), mine)
        if running is not mine:
            return running.result()
        try:
            result = compute(state, entry and entry.result)
        except BaseException as error:
            with self._lock:
                del self._running[owner, state]
            mine.set_exception(error)
            raise
        with self._lock:
            del self._running[owner, state]
            self._keep(owner, asked_at, _Entry(state, state_read_by, result))
        mine.set_result(result)
        return result

    def _keep(self, owner: Owner, asked_at: int, entry: _Entry[State, Result]) -> None:
        """Keep the result, unless it may be older than the one that is there.

        If two callers read the state at the same time, nobody can say whose is newer. Then the first result stays. If
        it was the older one, its state no longer matches, and the next caller computes again.
        """
        last = self._entries.get(owner)
        if last and last.state_read_by > asked_at:
            return
        self._entries[owner] = entry
        self._entries.move_to_end(owner)
        while len(self._entries) > self._max_owners:
            self._entries.popitem(last=False)
