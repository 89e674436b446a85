"""A folder whose changes reach the library. Documents of a folder that only seems to be gone stay in the library."""

import os
import stat
from collections.abc import Callable, Collection
from dataclasses import dataclass

from loci.core.errors import LociError, Refused
from loci.core.identity import Owner
from loci.documents.ingest.folder_ingest import FolderIngest, FolderLook, Stamps
from loci.documents.ingest.index_writer import Progress, no_progress
from loci.documents.ingest.local_files import LocalPath, is_below, is_document, parents_of, stamp_of
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
    """A folder without the folders in it that are watched by themselves, and its files as they were last seen."""

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
        self._folder = location.path
        self._ingest = ingest
        self._owner = owner
        self._clock = clock
        self._files: Stamps = {}
        self._is_unavailable = False
        self._is_behind = False

    def ingest_all(self, progress: Progress = no_progress) -> FolderEvent:
        """Ingest the whole folder, as `FolderIngest.run` does."""
        self._files = {}
        if folder_identity(self._folder) is None:
            return self._unavailable(FolderUnavailable(is_empty=False))
        try:
            summary = self._ingest.run(self._owner, [self._folder], progress, with_forgotten=False, look=self._look)
        except _FolderChangedError:
            return self._unavailable(FolderUnavailable(is_empty=False))
        except Refused as refused:
            if refused.code == "NOTHING_LEFT":
                return self._unavailable(FolderUnavailable(is_empty=True))
            if refused.code != "NOTHING_TO_INGEST":
                raise
            summary = IngestSummary()
        self._is_unavailable = self._is_behind = False
        return FolderIngested(summary)

    def _look(self) -> FolderLook:
        """Look at the whole folder. What is written to a file after that shows up as a change."""
        before = folder_identity(self._folder)
        seen = FolderLook.at(self._folder, self._ingest.scan, self._clock)
        if before is None or folder_identity(self._folder) != before:  # a disk may go away, and its files with it
            raise _FolderChangedError(f"{self._folder} went away", "It is read when it is back")
        self._files = {one: at for one, at in seen.stamps.items() if not is_below(one, self.excluded)}
        return seen

    def check(self, paths: Collection[str]) -> FolderEvent | None:
        """Ingest what changed at these paths. A folder that was unavailable is ingested whole once it is back."""
        try:
            if self._is_unavailable:
                is_back = folder_identity(self._folder) and self._ingest.scan.contents(self._folder).files
                return self.ingest_all() if is_back else None
            wanted = [self._folder] if self._is_behind else paths
            return self._ingest_changes(wanted) if wanted else None
        except LociError as error:
            self._is_behind = True
            return IngestPostponed(str(error))

    def _ingest_changes(self, paths: Collection[str]) -> FolderEvent | None:
        seen = self._changes(paths)
        if isinstance(seen, FolderUnavailable):
            return self._unavailable(seen)
        written, gone = seen
        event = None
        if written or gone:
            event = FolderIngested(self._ingest.update(self._owner, self.location, list(written), gone))
            self._files.update(written)
            for file in gone:
                del self._files[file]
        self._is_behind = False
        return event

    def _unavailable(self, event: FolderUnavailable) -> FolderUnavailable:
        self._is_unavailable = True
        return event

    def _changes(self, paths: Collection[str]) -> tuple[Stamps, list[str]] | FolderUnavailable:
        """The files at or below these paths that are new or written since the last look, and files that are gone."""
        before, named = folder_identity(self._folder), set(paths)
        outermost = (path for path in named if not any(above in named for above in parents_of(path)))
        places = set(filter(self._is_included, outermost))
        found, unread = Stamps(), list[str]()
        for path in places:
            self._collect(path, found, unread)
        gone = [one for one in self._known_below(places) if one not in found and not is_below(one, unread)]
        if before is None or folder_identity(self._folder) != before:  # a disk may go away, and its files with it
            return FolderUnavailable(is_empty=False)
        if gone and len(gone) == len(self._files) and not found:  # as on a disk that is not mounted
            return FolderUnavailable(is_empty=True)
        return {one: at for one, at in found.items() if at is None or one in named or self._files.get(one) != at}, gone

    def _collect(self, path: str, found: Stamps, unread: list[str]) -> None:
        try:
            seen = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            unread.append(path)
            return
        if stat.S_ISDIR(seen.st_mode):
            below = self._ingest.scan.contents(path, self._folder)
            unread += [one.path for one in below.unread]
            for file in below.files:
                if not is_below(file, self.excluded):
                    self._collect(file, found, unread)
        elif stat.S_ISREG(seen.st_mode) and is_document(path):
            found[path] = stamp_of(seen, self._clock())

    def _known_below(self, places: set[str]) -> Collection[str]:
        """The files that were seen at or below the places."""
        if places <= self._files.keys():  # as mostly
            return places
        return [one for one in self._files if one in places or any(above in places for above in parents_of(one))]

    def _is_included(self, path: str) -> bool:
        """True if a scan of the folder would reach the path: not hidden, not through a link, not excluded."""
        if path == self._folder:
            return True
        if not is_below(path, [self._folder]) or is_below(path, self.excluded):
            return False
        if self._ingest.scan.leaves_out(self._folder, path, is_folder=os.path.isdir(path)):  # noqa: PTH112
            return False
        above = os.path.dirname(path)  # noqa: PTH120  (`realpath` gives the same form)
        return os.path.realpath(above) == above


class _FolderChangedError(LociError):
    """The folder went away, or another one came to its place, while it was looked at."""


def folder_identity(folder: str) -> tuple[int, int] | None:
    """An identity that changes when the folder is made or mounted again; None if it does not exist."""
    try:
        seen = os.stat(folder)  # noqa: PTH116
    except OSError:
        return None
    return (seen.st_dev, seen.st_ino) if stat.S_ISDIR(seen.st_mode) else None
