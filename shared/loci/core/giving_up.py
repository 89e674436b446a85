"""Work that nobody may want any more: it can be asked about, and whoever waits for something is told at once."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


class GivingUp:
    """Called, it is true as soon as the work is given up."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._given_up = threading.Event()
        self._told: list[Callable[[], object]] = []

    def __call__(self) -> bool:
        return self._given_up.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until it is given up: then true."""
        return self._given_up.wait(seconds)

    def give_up(self) -> None:
        """Nobody wants the work any more."""
        with self._turn:
            self._given_up.set()
            told, self._told = self._told, []
        for tell in told:
            tell()

    @contextmanager
    def telling(self, tell: Callable[[], object]) -> Generator[None]:
        """Tell somebody, once, if it is given up before the end of the block, or was before."""
        with self._turn:
            is_given_up = self._given_up.is_set()
            if not is_given_up:
                self._told.append(tell)
        if is_given_up:
            tell()
        try:
            yield
        finally:
            with self._turn:
                if tell in self._told:
                    self._told.remove(tell)
