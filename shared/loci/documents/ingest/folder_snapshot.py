"""Compare a folder's documents with how they were at the last look."""

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from loci.documents.ingest.folder_scan import FolderScan
from loci.documents.ingest.local_files import is_below, is_document

SAME_TICK = 0.05
"""Two writes of a file within so many seconds may leave the same timestamps: file systems round them."""

FileStamp = tuple[int, int, int, int]
"""A file's inode, size, time of the last write and time of the last change."""


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """The differences since the last look. Paths are absolute."""

    written: Mapping[str, FileStamp | None] = field(default_factory=dict[str, FileStamp | None])
    """New and written files. No stamp: the file is so fresh that it may change without a new stamp."""
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderGone:
    """The folder itself does not exist at the moment."""


@dataclass(frozen=True, slots=True)
class FolderEmptied:
    """Every document that was there is gone, as on a disk that is not mounted."""


class FolderSnapshot:
    """The documents of a folder, as last seen, without those in the excluded folders."""

    def __init__(self, folder: str, excluded: Collection[str], clock: Callable[[], float], scan: FolderScan) -> None:
        self._scan = scan
        self._folder = folder
        self._excluded = excluded
        self._clock = clock
        self._files: dict[str, FileStamp | None] = {}

    def compare(self, paths: Collection[str]) -> FolderChanges | FolderGone | FolderEmptied:
        """Compare what is at or below these paths with the snapshot. `accept` then updates the snapshot."""
        before = folder_identity(self._folder)
        if before is None:
            return FolderGone()
        places = [path for path in _outermost(paths) if self._is_included(path)]
        found: dict[str, FileStamp | None] = {}
        unread: list[str] = []
        for path in places:
            self._collect(path, found, unread)
        written = {file: stamp for file, stamp in found.items() if file in paths or self._is_new(file, stamp)}
        gone = [file for file in self._known_below(places) if file not in found and not is_below(file, unread)]
        if folder_identity(self._folder) != before:  # the disk went away meanwhile, and its files with it
            return FolderGone()
        if gone and len(gone) == len(self._files) and not found:
            return FolderEmptied()
        return FolderChanges(written, tuple(gone))

    def accept(self, changes: FolderChanges) -> None:
        """Add the changes to the snapshot."""
        self._files.update(changes.written)
        for file in changes.gone:
            self._files.pop(file, None)

    def _collect(self, path: str, found: dict[str, FileStamp | None], unread: list[str]) -> None:
        try:
            seen = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            unread.append(path)
            return
        if stat.S_ISDIR(seen.st_mode):
            below = self._scan.contents(path, self._folder)
            unread += [one.path for one in below.unread]
            for file in below.files:
                if not is_below(file, self._excluded):
                    self._collect(file, found, unread)
        elif stat.S_ISREG(seen.st_mode) and is_document(path):
            is_fresh = abs(self._clock() - seen.st_mtime) < SAME_TICK
            found[path] = None if is_fresh else (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)

    def _is_new(self, file: str, stamp: FileStamp | None) -> bool:
        return stamp is None or self._files.get(file) != stamp

    def _known_below(self, places: Collection[str]) -> Iterator[str]:
        """The files of the snapshot that are at or below the places."""
        wanted = set(places)
        single = [place for place in wanted if place in self._files]
        yield from single
        if len(single) < len(wanted):  # one is a folder, or is not in the snapshot
            for file in self._files:
                if file not in wanted and any(above in wanted for above in _parents(file, self._folder)):
                    yield file

    def _is_included(self, path: str) -> bool:
        """True if a scan of the folder would reach the path: not hidden, not through a link, not excluded."""
        if path == self._folder:
            return True
        if not is_below(path, [self._folder]) or is_below(path, self._excluded):
            return False
        if self._scan.leaves_out(self._folder, path, is_folder=os.path.isdir(path)):  # noqa: PTH112
            return False
        above = os.path.dirname(path)  # noqa: PTH120  (`realpath` gives the same form)
        return os.path.realpath(above) == above


def folder_identity(folder: str) -> tuple[int, int] | None:
    """An identity that changes when the folder is made or mounted again; None if it does not exist."""
    try:
        seen = os.stat(folder)  # noqa: PTH116
    except OSError:
        return None
    return (seen.st_dev, seen.st_ino) if stat.S_ISDIR(seen.st_mode) else None


def _outermost(paths: Collection[str]) -> list[str]:
    """The paths that lie in none of the others."""
    every = set(paths)
    return [path for path in sorted(every) if not any(above in every for above in _parents(path, ""))]


def _parents(path: str, folder: str) -> Iterator[str]:
    """The folders that contain the path, from the innermost to `folder`."""
    end = path.rfind("/")
    while end > 0 and end >= len(folder):
        yield path[:end]
        end = path.rfind("/", 0, end)
