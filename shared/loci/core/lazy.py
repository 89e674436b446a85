"""Values that cost time to load or to make, and may never be needed."""

import threading
from collections.abc import Callable
from typing import Generic, Self, TypeVar, overload

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


class part(Generic[Made]):  # noqa: N801 (a decorator)
    """A property that is made when it is first read, once, also if several threads read it.

    It then lies in the `__dict__` of its object, where `made` finds it.
    """

    def __init__(self, make: Callable[..., Made]) -> None:
        self._make = make
        self._name = make.__name__
        self._lock = threading.RLock()
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Made: ...
    def __get__(self, instance: object, owner: type | None = None) -> Made | Self:
        if instance is None:
            return self
        values = instance.__dict__
        if self._name not in values:
            with self._lock:
                if self._name not in values:
                    values[self._name] = self._make(instance)
        return values[self._name]
