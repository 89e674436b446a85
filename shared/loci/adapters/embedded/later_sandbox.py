"""A sandbox that is there once somebody calls: starting a server loads nothing of it."""

import threading
from collections.abc import Callable

from loci.model.code import Completed, Failed, Job
from loci.model.identity import Owner
from loci.ports.code import Sandbox, ToolCall


class LaterSandbox:
    """Makes the other at the first call."""

    def __init__(self, make: Callable[[], Sandbox]) -> None:
        self._make = make
        self._turn = threading.Lock()
        self._made: Sandbox | None = None

    def run(self, owner: Owner, job: Job, call: ToolCall) -> Completed | Failed:
        with self._turn:
            if self._made is None:
                self._made = self._make()
            made = self._made
        return made.run(owner, job, call)

    def close(self) -> None:
        with self._turn:
            if self._made is not None:
                self._made.close()
