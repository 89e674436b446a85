"""Moves things from one place to another: what is there already stays, and a move that was stopped goes on."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from loci.core.errors import NotFound, Refused, Unavailable
from loci.transfer.archive_writer import ArchiveWriter
from loci.transfer.items import Clash, LeftOut, Loaded, New, Part, Same, Unreadable, Wish
from loci.transfer.places import Destination, Origin

BATCH_ITEMS, BATCH_BYTES = 32, 2 << 20
PATIENCE: Final = 900.0
"""Seconds that an item is tried again, such as a version of a file whose predecessor is being read."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0


@dataclass(frozen=True, slots=True)
class Named:
    """An item that something is to be said about."""

    part: str
    name: str
    why: str


@dataclass(slots=True)
class Moved:
    """The outcome of a move, or of a dry run."""

    taken: Counter[str] = field(default_factory=Counter[str])
    """By part: what was new, or what an archive got."""
    same: Counter[str] = field(default_factory=Counter[str])
    conflicts: list[Named] = field(default_factory=list[Named])
    left_out: list[Named] = field(default_factory=list[Named])
    failed: list[Named] = field(default_factory=list[Named])
    bytes: int = 0

    @property
    def done(self) -> int:
        """How many items were looked at."""
        told = len(self.conflicts) + len(self.left_out) + len(self.failed)
        return self.taken.total() + self.same.total() + told


Told = Callable[[Moved, str], None]
"""Told how far a move is, and the name of the last item."""


def nobody(moved: Moved, label: str) -> None:
    """Nobody wants to know."""


class Mover:
    """Moves what an origin has."""

    def __init__(
        self,
        origin: Origin,
        parts: dict[str, Part],
        told: Told = nobody,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.moved = Moved()
        self._origin = origin
        self._parts = parts
        self._told = told
        self._pause = pause
        self._clock = clock

    def into_archive(self, writer: ArchiveWriter) -> None:
        """Write everything into an archive."""
        for one in self._origin.items():
            if isinstance(one, Unreadable):
                self._unreadable(one)
                continue
            label = self._parts[one.item.part].label(one.item)
            try:
                writer.add(one)
                self.moved.taken[one.item.part] += 1
            except (NotFound, Refused) as error:  # it went away meanwhile, or is damaged
                self.moved.failed.append(Named(one.item.part, label, str(error)))
            self._told(self.moved, label)
        self.moved.bytes = writer.bytes

    def into(self, place: Destination, wish: Wish, *, dry_run: bool = False) -> None:
        """Have everything taken that is new there, or clashes and is wished for all the same."""
        for batch in self._batches():
            wanted: list[Loaded] = []
            verdicts = place.look([one.item for one in batch], wish)
            for one, verdict in zip(batch, verdicts, strict=True):
                match verdict:
                    case Same():
                        self.moved.same[one.item.part] += 1
                    case LeftOut(why):
                        self.moved.left_out.append(self._named(one, why))
                    case Clash(why):
                        self.moved.conflicts.append(self._named(one, why))
                        if wish.both:
                            wanted.append(one)
                    case New():
                        if dry_run:
                            self.moved.taken[one.item.part] += 1
                        wanted.append(one)
            if not dry_run:
                self._take(place, wanted, wish)
            self._told(self.moved, self._parts[batch[-1].item.part].label(batch[-1].item))

    def _take(self, place: Destination, some: list[Loaded], wish: Wish) -> None:
        pause, until = FIRST_PAUSE, self._clock() + PATIENCE
        while some:
            later: list[Loaded] = []
            for one, error in zip(some, place.take(some, wish), strict=True):
                if error is None:
                    self.moved.taken[one.item.part] += 1
                    self.moved.bytes += sum(content.size for content in one.item.contents)
                elif isinstance(error, Unavailable) and self._clock() < until:
                    later.append(one)
                else:
                    self.moved.failed.append(self._named(one, str(error)))
            if len(later) == len(some):
                self._pause(pause)
                pause = min(pause * 1.5, LONGEST_PAUSE)
            some = later

    def _batches(self) -> Iterator[list[Loaded]]:
        batch: list[Loaded] = []
        size = 0
        for one in self._origin.items():
            if isinstance(one, Unreadable):
                self._unreadable(one)
                continue
            more = sum(content.size for content in one.item.contents) + len(repr(one.item.about))
            if batch and (len(batch) == BATCH_ITEMS or size + more > BATCH_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(one)
            size += more
        if batch:
            yield batch

    def _unreadable(self, one: Unreadable) -> None:
        self.moved.failed.append(Named("", one.name, one.reason))

    def _named(self, one: Loaded, why: str) -> Named:
        return Named(one.item.part, self._parts[one.item.part].label(one.item), why)
