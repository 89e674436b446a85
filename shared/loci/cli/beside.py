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
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(PATIENCE)

    @abstractmethod
    def _work(self) -> None:
        """Work until `_ended` is set."""
