"""Values that cost time to load or to make, and may never be needed."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Lazy(Generic[Made]):
    """A value that is made when it is first needed: once, also if several threads ask. A failure is tried again."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: Made | None = None

    def get(self) -> Made:
        """The value, the same at every call."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made

    @property
    def made(self) -> Made | None:
        """The value if it was made already, else None."""
        return self._made
