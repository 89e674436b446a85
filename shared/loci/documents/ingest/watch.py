"""Folders that are followed: what happens in them reaches the library, and what only seems to be gone stays in it."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from loci.core.errors import LociError, Refused
from loci.core.identity import Owner
from loci.documents.document import Summary
from loci.documents.ingest.folder_scan import scan
from loci.documents.ingest.folder_snapshot import Away, Changes, Emptied, FolderSnapshot, identity
from loci.documents.ingest.index_writer import Progress, silent
from loci.documents.ingest.ingest import Ingest
from loci.documents.ingest.roots import RootLocation


@dataclass(frozen=True, slots=True)
class Took:
    """The library fits the folder as it is now, also one that was lost."""

    summary: Summary


@dataclass(frozen=True, slots=True)
class MissingFolder:
    """The folder is away, or nothing is left in it: its documents are kept until it is back."""

    is_away: bool


@dataclass(frozen=True, slots=True)
class Postponed:
    """It did not work now; the next look tries again."""

    reason: str


Happening = Took | MissingFolder | Postponed


class WatchedFolders:
    """One folder, and how far the library is with it."""

    def __init__(
        self, ingest: Ingest, owner: Owner, place: RootLocation, apart: Collection[str], clock: Callable[[], float]
    ) -> None:
        self.place = place
        self._ingest = ingest
        self._owner = owner
        self._apart = apart
        self._clock = clock
        self._snapshot = FolderSnapshot(place.path, apart, clock)
        self._is_lost = False
        self._is_behind = False

    def begin(self, progress: Progress = silent) -> Iterator[Happening]:
        """Take in all of it, as `Ingest.run` does."""
        # Remembered before it is taken in: what is written meanwhile is seen as a change afterwards.
        self._snapshot = FolderSnapshot(self.place.path, self._apart, self._clock)
        seen = self._snapshot.look([self.place.path])
        if not isinstance(seen, Changes):
            yield self._lose(is_away=True)
            return
        self._snapshot.accept(seen)
        try:
            summary = self._ingest.run(self._owner, [self.place.path], progress)
        except Refused as refused:
            if refused.code == "NOTHING_LEFT":
                yield self._lose(is_away=False)
                return
            if refused.code != "NOTHING_TO_INGEST":
                raise
            summary = Summary()
        self._is_lost = self._is_behind = False
        yield Took(summary)

    def look(self, touched: Collection[str]) -> Iterator[Happening]:
        """What came of it that something happened at these paths."""
        if self._is_lost:
            if identity(self.place.path) is None or not scan(self.place.path).files:
                return
            yield from self._trying(self.begin)
        elif touched or self._is_behind:
            yield from self._trying(lambda: self._catch_up([self.place.path] if self._is_behind else touched))

    def _catch_up(self, touched: Collection[str]) -> Iterator[Happening]:
        match self._snapshot.look(touched):
            case Away():
                yield self._lose(is_away=True)
            case Emptied():
                yield self._lose(is_away=False)
            case Changes() as changes:
                if changes.marks or changes.gone:
                    yield Took(self._ingest.touch(self._owner, self.place, list(changes.marks), changes.gone))
                    self._snapshot.accept(changes)
                self._is_behind = False

    def _trying(self, work: Callable[[], Iterator[Happening]]) -> Iterator[Happening]:
        try:
            yield from work()
        except LociError as error:
            self._is_behind = True
            yield Postponed(str(error))

    def _lose(self, *, is_away: bool) -> MissingFolder:
        self._is_lost = True
        return MissingFolder(is_away)
