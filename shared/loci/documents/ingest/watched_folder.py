"""A folder whose changes reach the library. Documents of a folder that only seems to be gone stay in the library."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from loci.core.errors import LociError, Refused
from loci.core.identity import Owner
from loci.documents.ingest.folder_ingest import FolderIngest
from loci.documents.ingest.folder_snapshot import (
    FolderChanges,
    FolderEmptied,
    FolderGone,
    FolderSnapshot,
    folder_identity,
)
from loci.documents.ingest.index_writer import Progress, no_progress
from loci.documents.ingest.local_files import LocalPath
from loci.documents.ingest.outcome import IngestSummary


@dataclass(frozen=True, slots=True)
class FolderIngested:
    """The library matches the folder again."""

    summary: IngestSummary


@dataclass(frozen=True, slots=True)
class FolderUnavailable:
    """The folder does not exist, or all its documents are gone: the library keeps them until it is back."""

    is_empty: bool
    """True if the folder exists."""


@dataclass(frozen=True, slots=True)
class IngestPostponed:
    """The ingest failed; the next check tries again."""

    reason: str


FolderEvent = FolderIngested | FolderUnavailable | IngestPostponed


class WatchedFolder:
    """One folder, and how far the library has followed its changes."""

    def __init__(
        self,
        ingest: FolderIngest,
        owner: Owner,
        location: LocalPath,
        excluded: Collection[str],
        clock: Callable[[], float],
    ) -> None:
        self.location = location
        self.excluded = excluded
        self._ingest = ingest
        self._owner = owner
        self._clock = clock
        self._snapshot = FolderSnapshot(location.path, excluded, clock, ingest.scan)
        self._is_unavailable = False
        self._is_behind = False

    def ingest_all(self, progress: Progress = no_progress) -> Iterator[FolderEvent]:
        """Ingest the whole folder, as `FolderIngest.run` does."""
        # The snapshot comes first: a file that is written during the ingest then shows up as a change.
        self._snapshot = FolderSnapshot(self.location.path, self.excluded, self._clock, self._ingest.scan)
        seen = self._snapshot.compare([self.location.path])
        if not isinstance(seen, FolderChanges):
            yield self._unavailable(is_empty=False)
            return
        self._snapshot.accept(seen)
        try:
            summary = self._ingest.run(self._owner, [self.location.path], progress, with_forgotten=False)
        except Refused as refused:
            if refused.code == "NOTHING_LEFT":
                yield self._unavailable(is_empty=True)
                return
            if refused.code != "NOTHING_TO_INGEST":
                raise
            summary = IngestSummary()
        self._is_unavailable = self._is_behind = False
        yield FolderIngested(summary)

    def check(self, paths: Collection[str]) -> Iterator[FolderEvent]:
        """Ingest what changed at these paths. A folder that was unavailable is ingested whole once it is back."""
        if self._is_unavailable:
            if folder_identity(self.location.path) is None or not self._ingest.scan.contents(self.location.path).files:
                return
            yield from self._postponing_failures(self.ingest_all)
        elif paths or self._is_behind:
            wanted = [self.location.path] if self._is_behind else paths
            yield from self._postponing_failures(lambda: self._ingest_changes(wanted))

    def _ingest_changes(self, paths: Collection[str]) -> Iterator[FolderEvent]:
        match self._snapshot.compare(paths):
            case FolderGone():
                yield self._unavailable(is_empty=False)
            case FolderEmptied():
                yield self._unavailable(is_empty=True)
            case FolderChanges() as changes:
                if changes.written or changes.gone:
                    summary = self._ingest.update(self._owner, self.location, list(changes.written), changes.gone)
                    yield FolderIngested(summary)
                    self._snapshot.accept(changes)
                self._is_behind = False

    def _postponing_failures(self, work: Callable[[], Iterator[FolderEvent]]) -> Iterator[FolderEvent]:
        try:
            yield from work()
        except LociError as error:
            self._is_behind = True
            yield IngestPostponed(str(error))

    def _unavailable(self, *, is_empty: bool) -> FolderUnavailable:
        self._is_unavailable = True
        return FolderUnavailable(is_empty)
