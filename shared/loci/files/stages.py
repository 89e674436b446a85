"""How far this process is with the files that it reads and embeds."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from loci.core.identity import Owner


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of the work on a file."""

    text: str
    done: int = 0
    total: int | None = None
    """None: nobody can say how much there is."""


Watch = Callable[[Stage], None]


def unwatched(stage: Stage) -> None:
    """The `Watch` of a caller who does not look."""


class Stages:
    """The stage of each file that is being worked on. Other processes have their own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stages: dict[tuple[Owner, str], Stage] = {}

    def get(self, owner: Owner, id: str) -> Stage | None:
        """The stage of the file; None if this process does nothing with it."""
        with self._lock:
            return self._stages.get((owner, id))

    def enter(self, owner: Owner, id: str, stage: Stage | None) -> None:
        """Say what is done with the file now; None: no more."""
        with self._lock:
            if stage is None:
                self._stages.pop((owner, id), None)
            else:
                self._stages[owner, id] = stage
