"""The documents of a folder as they lay there when somebody last looked, and what became of them since."""

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from loci.documents.ingest.folder_scan import SKIPPED_FOLDERS, is_document, scan
from loci.documents.ingest.roots import is_below

SAME_TICK = 0.05
"""Seconds in which a file may be written twice and look the same: file systems count time in steps."""

Mark = tuple[int, int, int, int]
"""Which file it is, how large, and when it was written and changed."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of a folder. Paths are whole."""

    marks: Mapping[str, Mark | None] = field(default_factory=dict[str, Mark | None])
    """The files that are new or were written."""
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Away:
    """The folder itself is not there now."""


@dataclass(frozen=True, slots=True)
class Emptied:
    """Nothing is left of what was there: a disk that is not mounted looks like this."""


class FolderSnapshot:
    """Remembers what was seen. Folders that are `apart` lie in it, and are somebody else's."""

    def __init__(self, folder: str, apart: Collection[str], clock: Callable[[], float]) -> None:
        self._folder = folder
        self._apart = apart
        self._clock = clock
        self._files: dict[str, Mark | None] = {}

    def __len__(self) -> int:
        return len(self._files)

    def look(self, touched: Collection[str]) -> Changes | Away | Emptied:
        """What is another at or below these paths than it was. It is remembered with `accept`."""
        before = identity(self._folder)
        if before is None:
            return Away()
        places = [path for path in _outermost(touched) if self._is_seen(path)]
        found: dict[str, Mark | None] = {}
        unread: list[str] = []
        for path in places:
            self._look_at(path, found, unread)
        marks = {file: mark for file, mark in found.items() if file in touched or self._is_new(file, mark)}
        gone = [file for file in self._below(places) if file not in found and not is_below(file, unread)]
        if identity(self._folder) != before:  # what was missed lay on a disk that has just gone
            return Away()
        if gone and len(gone) == len(self._files) and not found:
            return Emptied()
        return Changes(marks, tuple(gone))

    def accept(self, changes: Changes) -> None:
        """Remember that this was seen."""
        self._files.update(changes.marks)
        for file in changes.gone:
            self._files.pop(file, None)

    def _look_at(self, path: str, found: dict[str, Mark | None], unread: list[str]) -> None:
        try:
            seen = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            unread.append(path)
            return
        if stat.S_ISDIR(seen.st_mode):
            below = scan(path)
            unread += [one.path for one in below.unread]
            for file in below.files:
                if not is_below(file, self._apart):
                    self._look_at(file, found, unread)
        elif stat.S_ISREG(seen.st_mode) and is_document(path):
            fresh = abs(self._clock() - seen.st_mtime) < SAME_TICK
            found[path] = None if fresh else (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)

    def _is_new(self, file: str, mark: Mark | None) -> bool:
        return mark is None or self._files.get(file) != mark

    def _below(self, places: Collection[str]) -> Iterator[str]:
        """The remembered files at and below the places."""
        wanted = set(places)
        single = [place for place in wanted if place in self._files]
        yield from single
        if len(single) < len(wanted):  # a folder, or something that was never remembered
            for file in self._files:
                if file not in wanted and any(above in wanted for above in _above(file, self._folder)):
                    yield file

    def _is_seen(self, path: str) -> bool:
        """Whether a scan of the folder would come by: nothing hidden on the way, no link, and not somebody else's."""
        if path == self._folder:
            return True
        if not is_below(path, [self._folder]) or is_below(path, self._apart):
            return False
        names = PurePath(path[len(self._folder) :]).parts
        if any(name.startswith(".") or name in SKIPPED_FOLDERS for name in names):
            return False
        above = os.path.dirname(path)  # noqa: PTH120  (as realpath has it)
        return os.path.realpath(above) == above


def identity(folder: str) -> tuple[int, int] | None:
    """Which folder it is: another one after it was made or mounted anew. None where there is none."""
    try:
        seen = os.stat(folder)  # noqa: PTH116
    except OSError:
        return None
    return (seen.st_dev, seen.st_ino) if stat.S_ISDIR(seen.st_mode) else None


def _outermost(paths: Collection[str]) -> list[str]:
    """Those that lie in no other of them."""
    every = set(paths)
    return [path for path in sorted(every) if not any(above in every for above in _above(path, ""))]


def _above(path: str, folder: str) -> Iterator[str]:
    """The folders above the path, from the innermost to that folder."""
    end = path.rfind("/")
    while end > 0 and end >= len(folder):
        yield path[:end]
        end = path.rfind("/", 0, end)
