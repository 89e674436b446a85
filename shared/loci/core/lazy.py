"""What costs time to load or to make, and may never be asked for."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Lazy(Generic[Made]):
    """Made when it is first asked for: once, whoever asks at the same time. What fails is tried again."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._turn = threading.Lock()
        self._made: Made | None = None

    def get(self) -> Made:
        """The same one at every call."""
        if self._made is None:
            with self._turn:
                if self._made is None:
                    self._made = self._make()
        return self._made

    @property
    def made(self) -> Made | None:
        """None while nobody has asked for it."""
        return self._made
