"""The two ends of a move: a place that things come from, and one that takes them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

from loci.core.errors import Conflict, LociError
from loci.core.identity import Owner
from loci.transfer.items import Item, Loaded, Part, Same, Unreadable, Verdict, Wish


class Origin(Protocol):
    """A place that things come from."""

    def items(self) -> Iterator[Loaded | Unreadable]:
        """All items, part by part."""
        ...


class Destination(Protocol):
    """A place that takes things."""

    def look(self, items: Sequence[Item], wish: Wish) -> list[Verdict]:
        """The verdict on each item: what would become of it."""
        ...

    def take(self, some: Sequence[Loaded], wish: Wish) -> list[LociError | None]:
        """Take the items; the error of each that could not be taken."""
        ...


class OwnPlace:
    """An owner's things in this Loci."""

    def __init__(self, parts: Mapping[str, Part], owner: Owner, wanted: Sequence[str]) -> None:
        self._parts = parts
        self._owner = owner
        self._wanted = wanted

    def items(self) -> Iterator[Loaded | Unreadable]:
        for name in self._wanted:
            for one in self._parts[name].items(self._owner, None):
                yield one if isinstance(one, Unreadable) else Loaded(one, partial(self._load, one))

    def look(self, items: Sequence[Item], wish: Wish) -> list[Verdict]:
        return [self._parts[one.part].look(self._owner, one, wish) for one in items]

    def take(self, some: Sequence[Loaded], wish: Wish) -> list[LociError | None]:
        errors: list[LociError | None] = []
        for start, end in same_part([one.item for one in some]):
            part, those = self._parts[some[start].item.part], some[start:end]
            for one, error in zip(those, part.take(self._owner, those, wish), strict=True):
                errors.append(None if self._came_meanwhile(part, one.item, wish, error) else error)
        return errors

    def _came_meanwhile(self, part: Part, item: Item, wish: Wish, error: LociError | None) -> bool:
        """True if another import took the same thing first."""
        return isinstance(error, Conflict) and part.look(self._owner, item, wish) == Same()

    def _load(self, item: Item, content: str) -> bytes:
        held = next(one.held for one in item.contents if one.name == content)
        return self._parts[item.part].read(self._owner, item.key, content) if held is None else held


def same_part(items: Sequence[Item]) -> Iterator[tuple[int, int]]:
    """The beginning and the end of each stretch of items of one part."""
    start = 0
    for at in range(1, len(items) + 1):
        if at == len(items) or items[at].part != items[start].part:
            yield start, at
            start = at
