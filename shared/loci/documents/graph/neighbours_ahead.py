"""The nearest of documents that nobody has asked for yet, found on a thread."""

import threading

from loci.documents.graph.neighbours_index import NeighboursIndex


class Ahead:
    """Works for whoever asked last, until all is found or somebody else asks."""

    def __init__(self) -> None:
        self._wanted: NeighboursIndex | None = None
        self._turn = threading.Lock()
        self._is_at_work = False

    def find(self, nearest: NeighboursIndex) -> None:
        """Find those of all its documents, soon."""
        with self._turn:
            if nearest is self._wanted:
                return
            self._wanted = nearest
            if not self._is_at_work:
                self._is_at_work = True
                threading.Thread(target=self._work, name="nearest", daemon=True).start()

    def _work(self) -> None:
        done: NeighboursIndex | None = None
        while True:
            with self._turn:
                wanted = self._wanted
                if wanted is done or wanted is None:
                    self._is_at_work = False
                    return
            for _ in wanted.blocks():
                if wanted is not self._wanted:
                    break
            done = wanted
