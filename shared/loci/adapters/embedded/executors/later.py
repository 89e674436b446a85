"""Executors that are there once somebody calls: starting a server loads nothing of them."""

import threading
from collections.abc import Callable

from loci.model.executors import Ran
from loci.model.identity import Owner
from loci.ports.code import Executors, StoredFiles


class LaterExecutors:
    """Makes the others at the first call."""

    def __init__(self, make: Callable[[], Executors]) -> None:
        self._make = make
        self._turn = threading.Lock()
        self._made: Executors | None = None

    def open(self, owner: Owner) -> str:
        return self._others().open(owner)

    def run(self, owner: Owner, id: str, code: str, files: StoredFiles, keep_until: float) -> Ran:
        return self._others().run(owner, id, code, files, keep_until)

    def forget(self, owner: Owner, id: str) -> None:
        self._others().forget(owner, id)

    def close(self) -> None:
        with self._turn:
            if self._made is not None:
                self._made.close()

    def _others(self) -> Executors:
        with self._turn:
            if self._made is None:
                self._made = self._make()
            return self._made
