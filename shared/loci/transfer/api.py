"""Export and import: writes what an owner has into an archive, and an archive into a target that may have data."""

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
from loci.transfer.items import Item, Kind, Loaded, Outcome, Receiver, UnreadableItem

RESULTS: Final = "results"
"""The kind that is exported only on request."""
BATCH_ITEMS, BATCH_BYTES = 32, 2 << 20
PATIENCE: Final = 900.0
"""Seconds for which an item is tried again, such as a version of a file while the one before it is being read."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0


@dataclass(frozen=True, slots=True)
class ReportedItem:
    """An item that the report names, with the reason."""

    part: str
    name: str
    why: str


@dataclass(slots=True)
class TransferReport:
    """The outcome of an export, an import, or a dry run."""

    taken: Counter[str] = field(default_factory=Counter[str])
    """The number of items that were taken, by kind."""
    same: Counter[str] = field(default_factory=Counter[str])
    conflicts: list[ReportedItem] = field(default_factory=list[ReportedItem])
    left_out: list[ReportedItem] = field(default_factory=list[ReportedItem])
    failed: list[ReportedItem] = field(default_factory=list[ReportedItem])
    bytes: int = 0

    @property
    def done(self) -> int:
        """The number of items that were handled so far."""
        named = len(self.conflicts) + len(self.left_out) + len(self.failed)
        return self.taken.total() + self.same.total() + named

    def note(self, kind: str, label: str, outcome: Outcome) -> None:
        """Count an item."""
        match outcome.word:
            case "taken" | "same" as word:
                (self.taken if word == "taken" else self.same)[kind] += 1
            case word:
                lists = {"conflict": self.conflicts, "left out": self.left_out}
                lists.get(word, self.failed).append(ReportedItem(kind, label, outcome.why))


ReportProgress = Callable[[TransferReport, str], None]
"""Called with the report so far, and the name of the last item."""


class ImportTarget(Protocol):
    """The receiver of an import: an owner here, or on another server."""

    def preview(self, some: Sequence[Loaded]) -> list[Outcome]:
        """The outcome that `store` would have for each item."""
        ...

    def store(self, some: Sequence[Loaded]) -> list[Outcome]:
        """Store the items that do not exist yet, and return the outcome of each."""
        ...


class Transfer:
    """Exports and imports all kinds of items."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds: Mapping[str, Kind] = {one.name: one for one in kinds}
        """The kinds by name, in the order of an import."""
        self.largest = max(one.largest for one in kinds)
        """The most bytes of a blob."""

    def names(self, *, with_results: bool) -> list[str]:
        """The names of the kinds that an export has."""
        return [name for name in self.kinds if with_results or name != RESULTS]

    def items(self, owner: Owner, names: Sequence[str], after: str = "") -> Iterator[Loaded | UnreadableItem]:
        """All items of these kinds, from `after`, which is `KIND:KEY`."""
        begun, _, key = after.partition(":")
        for name in names[names.index(begun) if begun else 0 :]:
            yield from self.kinds[name].items(owner, key if name == begun else None)

    def target(self, to: Receiver) -> "LocalTarget":
        """The target for an import into this Loci."""
        return LocalTarget(self.kinds, to)

    def label(self, item: Item) -> str:
        """The name of the item for people."""
        return self.kinds[item.kind].label(item)

    def export(
        self,
        items: Iterable[Loaded | UnreadableItem],
        file: IO[bytes],
        on_progress: ReportProgress,
        report: TransferReport | None = None,
    ) -> TransferReport:
        """Write the items into an archive, and add the outcomes to the report."""
        report = report or TransferReport()
        with closing(ArchiveWriter(file)) as writer:
            for one in items:
                if isinstance(one, UnreadableItem):
                    report.note("", one.name, Outcome("failed", one.why))
                    continue
                label = self.label(one.item)
                try:
                    report.bytes += writer.add(one)
                    report.taken[one.item.kind] += 1
                except (NotFound, Refused) as error:  # it went away meanwhile, or is damaged
                    report.note(one.item.kind, label, Outcome("failed", str(error)))
                on_progress(report, label)
            writer.finish(iso(time.time()))
        return report

    def import_archive(
        self,
        archive: Archive,
        target: ImportTarget,
        report: TransferReport,
        on_progress: ReportProgress,
        *,
        dry_run: bool = False,
    ) -> None:
        """Store all items of the archive that the target does not have yet. Existing items stay as they are."""
        for batch in _batches(archive):
            wanted: list[Loaded] = []
            for one, outcome in zip(batch, target.preview(batch), strict=True):
                if outcome.word == "taken" and not dry_run:
                    wanted.append(one)
                else:
                    self._note(report, one, outcome)
            self._store(wanted, target, report)
            on_progress(report, self.label(batch[-1].item))

    def _store(self, wanted: list[Loaded], target: ImportTarget, report: TransferReport) -> None:
        pause, until = FIRST_PAUSE, time.monotonic() + PATIENCE
        while wanted:
            later: list[Loaded] = []
            for one, outcome in zip(wanted, target.store(wanted), strict=True):
                if outcome.word == "later" and time.monotonic() < until:
                    later.append(one)
                else:
                    self._note(report, one, outcome)
            if len(later) == len(wanted):
                time.sleep(pause)
                pause = min(pause * 1.5, LONGEST_PAUSE)
            wanted = later

    def _note(self, report: TransferReport, one: Loaded, outcome: Outcome) -> None:
        report.note(one.item.kind, self.label(one.item), outcome)


class LocalTarget:
    """An owner's data in this Loci, as the target of an import."""

    def __init__(self, kinds: Mapping[str, Kind], to: Receiver) -> None:
        self._kinds = kinds
        self._to = to

    def preview(self, some: Sequence[Loaded]) -> list[Outcome]:
        return [self._kinds[one.item.kind].preview(self._to, one.item) for one in some]

    def store(self, some: Sequence[Loaded]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for name, those in groupby(some, lambda one: one.item.kind):
            outcomes += self._kinds[name].store(self._to, [*those])
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
