"""Work on a thread beside serving."""

import threading
from abc import ABC, abstractmethod
from typing import Self

PATIENCE = 2.0
"""Seconds in which it may come to an end."""


class Beside(ABC):
    """A thread that works until the server ends."""

    def __init__(self, name: str) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Tell the work to end."""
        self._ended.set()

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        try:
            self._work()
        except Exception:
            # A thread that has no time to end loses what it works with, such as the database.
            if not self._ended.is_set():
                raise

    @abstractmethod
    def _work(self) -> None:
        """Work until `_ended` is set."""
