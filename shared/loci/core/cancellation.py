"""The cancellation of work: it can be asked for, and what waits is told at once."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


class Cancellation:
    """Called, it is true as soon as the work is cancelled."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._cancelled = threading.Event()
        self._told: list[Callable[[], object]] = []

    def __call__(self) -> bool:
        return self._cancelled.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until the work is cancelled: then true."""
        return self._cancelled.wait(seconds)

    def cancel(self) -> None:
        """Cancel the work."""
        with self._turn:
            self._cancelled.set()
            told, self._told = self._told, []
        for tell in told:
            tell()

    @contextmanager
    def telling(self, tell: Callable[[], object]) -> Generator[None]:
        """Call `tell` once, if the work is cancelled before the end of the block, or was before."""
        with self._turn:
            was_cancelled = self._cancelled.is_set()
            if not was_cancelled:
                self._told.append(tell)
        if was_cancelled:
            tell()
        try:
            yield
        finally:
            with self._turn:
                if tell in self._told:
                    self._told.remove(tell)
