"""Moving: the one door. What an owner has goes into an archive, and an archive into a place that has things already."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from typing import IO, Final, Protocol

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.json import iso
from loci.transfer.archive import Archive, ArchiveWriter
from loci.transfer.items import Item, Kind, Loaded, Outcome, Receiver, Unreadable

RESULTS: Final = "results"
"""The kind that comes along only if a person wishes it."""
BATCH_ITEMS, BATCH_BYTES = 32, 2 << 20
PATIENCE: Final = 900.0
"""Seconds for which an item is tried again, such as a version of a file while the one before it is being read."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0


@dataclass(frozen=True, slots=True)
class Named:
    """An item that a person is told about."""

    part: str
    name: str
    why: str


@dataclass(slots=True)
class Report:
    """The outcome of an export, an import, or a dry run."""

    taken: Counter[str] = field(default_factory=Counter[str])
    """By kind."""
    same: Counter[str] = field(default_factory=Counter[str])
    conflicts: list[Named] = field(default_factory=list[Named])
    left_out: list[Named] = field(default_factory=list[Named])
    failed: list[Named] = field(default_factory=list[Named])
    bytes: int = 0

    @property
    def done(self) -> int:
        """The number of items so far."""
        named = len(self.conflicts) + len(self.left_out) + len(self.failed)
        return self.taken.total() + self.same.total() + named

    def note(self, kind: str, label: str, outcome: Outcome) -> None:
        """Count an item."""
        match outcome.word:
            case "taken" | "same" as word:
                (self.taken if word == "taken" else self.same)[kind] += 1
            case word:
                lists = {"conflict": self.conflicts, "left out": self.left_out}
                lists.get(word, self.failed).append(Named(kind, label, outcome.why))


Tell = Callable[[Report, str], None]
"""Told how far it is, and the name of the last item."""


class Place(Protocol):
    """A place that takes things."""

    def look(self, some: Sequence[Loaded]) -> list[Outcome]:
        """The outcome that `take` would have for each."""
        ...

    def take(self, some: Sequence[Loaded]) -> list[Outcome]:
        """Take the items whose places are free. The outcome of each."""
        ...


class Transfer:
    """All kinds of things that travel."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds: Mapping[str, Kind] = {one.name: one for one in kinds}
        """In the order in which they are taken."""
        self.largest = max(one.largest for one in kinds)
        """Bytes of a blob."""

    def names(self, *, with_results: bool) -> list[str]:
        """The kinds of an export."""
        return [name for name in self.kinds if with_results or name != RESULTS]

    def items(self, owner: Owner, names: Sequence[str], after: str = "") -> Iterator[Loaded | Unreadable]:
        """All items of these kinds, those behind `KIND:KEY`."""
        begun, _, key = after.partition(":")
        for name in names[names.index(begun) if begun else 0 :]:
            yield from self.kinds[name].items(owner, key if name == begun else None)

    def of(self, to: Receiver) -> "OwnPlace":
        """The place with what the owner has here."""
        return OwnPlace(self.kinds, to)

    def label(self, item: Item) -> str:
        """The name of the item for people."""
        return self.kinds[item.kind].label(item)

    def export(
        self, items: Iterable[Loaded | Unreadable], file: IO[bytes], tell: Tell, report: Report | None = None
    ) -> Report:
        """Write the items into an archive. The outcome is added to the report."""
        report = report or Report()
        with closing(ArchiveWriter(file)) as writer:
            for one in items:
                if isinstance(one, Unreadable):
                    report.note("", one.name, Outcome("failed", one.why))
                    continue
                label = self.label(one.item)
                try:
                    report.bytes += writer.add(one)
                    report.taken[one.item.kind] += 1
                except (NotFound, Refused) as error:  # it went away meanwhile, or is damaged
                    report.note(one.item.kind, label, Outcome("failed", str(error)))
                tell(report, label)
            writer.finish(iso(time.time()))
        return report

    def bring(self, archive: Archive, place: Place, report: Report, tell: Tell, *, dry_run: bool = False) -> None:
        """Have all items of the archive taken whose places are free there. What is there already stays as it is."""
        for batch in _batches(archive):
            wanted: list[Loaded] = []
            for one, outcome in zip(batch, place.look(batch), strict=True):
                if outcome.word == "taken" and not dry_run:
                    wanted.append(one)
                else:
                    self._note(report, one, outcome)
            self._take(wanted, place, report)
            tell(report, self.label(batch[-1].item))

    def _take(self, wanted: list[Loaded], place: Place, report: Report) -> None:
        pause, until = FIRST_PAUSE, time.monotonic() + PATIENCE
        while wanted:
            later: list[Loaded] = []
            for one, outcome in zip(wanted, place.take(wanted), strict=True):
                if outcome.word == "later" and time.monotonic() < until:
                    later.append(one)
                else:
                    self._note(report, one, outcome)
            if len(later) == len(wanted):
                time.sleep(pause)
                pause = min(pause * 1.5, LONGEST_PAUSE)
            wanted = later

    def _note(self, report: Report, one: Loaded, outcome: Outcome) -> None:
        report.note(one.item.kind, self.label(one.item), outcome)


class OwnPlace:
    """The things of an owner in this Loci."""

    def __init__(self, kinds: Mapping[str, Kind], to: Receiver) -> None:
        self._kinds = kinds
        self._to = to

    def look(self, some: Sequence[Loaded]) -> list[Outcome]:
        return [self._kinds[one.item.kind].look(self._to, one.item) for one in some]

    def take(self, some: Sequence[Loaded]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for name, those in groupby(some, lambda one: one.item.kind):
            outcomes += self._kinds[name].take(self._to, [*those])
        return outcomes


def _batches(archive: Archive) -> Iterator[list[Loaded]]:
    batch: list[Loaded] = []
    size = 0
    for one in archive.items():
        more = archive.size(one.item) + len(repr(one.item.value))
        if batch and (len(batch) == BATCH_ITEMS or size + more > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += more
    if batch:
        yield batch
