"""Events: what happens to an owner's things, as followers are told. Names and sizes, never contents."""

from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from typing import Final, Literal, get_args

from loci.core.identity import Owner
from loci.core.json import JsonObject

EventKind = Literal["call", "workflow", "approval", "ingestion", "server"]
EVENT_KINDS: Final[tuple[EventKind, ...]] = get_args(EventKind)

Tell = Callable[[Owner, EventKind, JsonObject], None]
"""Tells what has happened. Waits for nothing, and never fails."""


def untold(owner: Owner, kind: EventKind, fields: JsonObject) -> None:
    """The `Tell` of a process that nobody follows."""


ListName = Literal["tools", "prompts", "resources"]


class ListWatchers:
    """Tells connected clients that a list has changed which Loci gives them."""

    def __init__(self) -> None:
        self._watchers: list[Callable[[Owner, Collection[ListName]], None]] = []

    def tell(self, owner: Owner, lists: Collection[ListName]) -> None:
        """Tell all who watch, from any thread."""
        for one in (*self._watchers,):
            one(owner, lists)

    @contextmanager
    def watching(self, watcher: Callable[[Owner, Collection[ListName]], None]) -> Generator[None]:
        """Have the watcher told in the block. It must not wait for anything."""
        self._watchers.append(watcher)
        try:
            yield
        finally:
            self._watchers.remove(watcher)
