"""Finds the documents in folders of this machine, and counts the ones that it leaves out, for example by `.gitignore`.

Patterns work as in git: the last one that matches decides, of the innermost file.
"""

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from loci.core.atomic_write import FILE, open_folder
from loci.core.errors import Refused
from loci.documents.ingest.local_files import SKIPPED_FOLDERS, LocalPath, is_document
from loci.documents.ingest.outcome import NOTHING_LEFT_OUT, FileFailure, LeftOut

NAME: Final = ".gitignore"
LARGEST: Final = 65_536
"""Bytes that are read of a file."""
MOST_PATTERNS: Final = 1000
LONGEST: Final = 1000
"""Characters of a pattern. To compile a longer one takes time."""
SIGNS: Final = re.compile(r"\\(.)|\[\^|\*+", re.DOTALL)
"""The signs that git and Python's `fnmatch` write in different ways."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern: a line of a `.gitignore` file."""

    parts: tuple[re.Pattern[str] | None, ...]
    """The pattern of each name on the way; None stands for any number of names."""
    is_exception: bool
    only_folders: bool


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns that count in a folder: its own, and the patterns of the folders above it."""

    files: tuple[tuple[str, tuple[Pattern, ...]], ...] = ()
    """The folder of each file, and its patterns. The innermost comes last."""

    def below(self, folder: str, opened: int) -> "Ignored":
        """The patterns that count in this folder, which is opened."""
        try:
            patterns = _read(opened)
        except OSError:
            return self
        return Ignored((*self.files, (folder, patterns))) if patterns else self

    def in_folder(self, folder: str) -> "Ignored":
        """The patterns that count in this folder."""
        try:
            opened = open_folder(folder)
        except (OSError, Refused):
            return self
        try:
            return self.below(folder, opened)
        finally:
            os.close(opened)

    def has(self, path: str, *, is_folder: bool) -> bool:
        """True if this absolute path is ignored."""
        for folder, patterns in reversed(self.files):
            names = path[len(folder) :].strip("/").split("/")
            for pattern in reversed(patterns):
                if (is_folder or not pattern.only_folders) and _matches(pattern.parts, names):
                    return not pattern.is_exception
        return False


def ignored_above(top: str, folder: str) -> Ignored:
    """The patterns of the folders above this one, which is `top` or below it, as far up as its repository goes."""
    above = Path(top).parents
    last = next((at for at, one in enumerate((Path(top), *above)) if (one / ".git").exists()), 0)
    found = Ignored()
    for one in (*map(str, reversed(above[:last])), *folders_to(top, folder)):
        found = found.in_folder(one)
    return found


def folders_to(top: str, path: str) -> list[str]:
    """The folders from `top` to the one that has the path, which is below it or is `top`."""
    names = path[len(top) :].strip("/").split("/")
    return ["/".join([top.rstrip("/"), *names[:at]]) or "/" for at in range(len(names))] if path != top else []


def _read(folder: int) -> tuple[Pattern, ...]:
    opened = os.open(NAME, FILE, dir_fd=folder)
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return ()
        text = file.read(LARGEST).decode("utf-8-sig", "replace")
    return tuple(one for line in text.splitlines()[:MOST_PATTERNS] if (one := _pattern(line)))


def _pattern(line: str) -> Pattern | None:
    if line.startswith("#") or len(line) > LONGEST:
        return None
    bare = line.rstrip(" ")
    if bare.endswith("\\") and len(bare) < len(line):
        bare += " "  # a space after a backslash counts
    is_exception = bare.startswith("!")
    bare = bare.removeprefix("!")
    names = [one for one in bare.split("/") if one]
    if not names:
        return None
    if "/" not in bare.rstrip("/"):
        names.insert(0, "**")
    if names[-1] == "**":
        names.append("*")
    once = [two for one, two in pairwise(["", *names]) if not one == two == "**"]
    try:
        parts = tuple(None if one == "**" else _name(one) for one in once)
    except re.error:
        return None
    return Pattern(parts, is_exception, only_folders=bare.endswith("/"))


@lru_cache(MOST_PATTERNS)
def _name(name: str) -> re.Pattern[str]:
    """The pattern of one name. It takes no time: `fnmatch` makes it one that never goes back behind a star."""
    return re.compile(translate(SIGNS.sub(_as_fnmatch_has_it, name)))


def _as_fnmatch_has_it(sign: re.Match[str]) -> str:
    if sign[0] == "[^":
        return "[!"
    if sign[1] is None:
        return "*"
    return f"[{sign[1]}]" if sign[1] in "*?[" else sign[1]


def _matches(parts: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """True if each part fits the next name, and each None any number of them. Goes back to the last None."""
    at = number = start = 0
    last: int | None = None
    while number < len(names):
        part = parts[at] if at < len(parts) else ()
        if part is None:
            last, start, at = at, number, at + 1
        elif part and part.match(names[number]):
            at, number = at + 1, number + 1
        elif last is not None:
            at, start = last + 1, start + 1
            number = start
        else:
            return False
    return all(part is None for part in parts[at:])


@dataclass(frozen=True, slots=True)
class FolderContents:
    """The documents in a folder. All paths are absolute."""

    files: tuple[str, ...] = ()
    skipped: tuple[FileFailure, ...] = ()
    """Paths that look like documents but are not."""
    unread: tuple[FileFailure, ...] = ()
    """Folders that could not be read: their contents are unknown."""
    left_out: LeftOut = NOTHING_LEFT_OUT


@dataclass(frozen=True, slots=True)
class FolderScan:
    """Finds documents. It skips hidden files and does not follow links."""

    with_gitignore: bool = False
    """True: it also skips paths that `.gitignore` files name."""
    exclude: tuple[str, ...] = ()
    """Patterns of more paths to skip, as in a `.gitignore` of the scanned folder. No `.gitignore` overrides them."""

    def contents(self, folder: str, top: str | None = None) -> FolderContents:
        """All documents below the folder, sorted by path. `top` is the folder of a larger scan that it is part of."""
        ignored = ignored_above(top or folder, folder) if self.with_gitignore else None
        return _Walk(folder, ignored, self._excluded(top or folder)).contents()

    def of(self, location: LocalPath) -> FolderContents:
        """All documents below a folder; of a file, the file itself."""
        return self.contents(location.path) if location.is_folder else FolderContents((location.path,))

    def _excluded(self, top: str) -> Ignored:
        patterns = tuple(one for line in self.exclude if (one := _pattern(line)))
        return Ignored(((top, patterns),) if patterns else ())

    def leaves_out(self, top: str, path: str, *, is_folder: bool = False) -> bool:
        """True if a scan of the folder `top` would leave out that path, which is below it."""
        names = path[len(top) :].strip("/").split("/")
        if any(name.startswith(".") or name in SKIPPED_FOLDERS for name in names):
            return True
        excluded, ignored = self._excluded(top), ignored_above(top, top) if self.with_gitignore else Ignored()
        for above, below in pairwise([*folders_to(top, path), path]):
            ignored = ignored.in_folder(above) if self.with_gitignore else ignored
            at_folder = is_folder or below != path
            if excluded.has(below, is_folder=at_folder) or ignored.has(below, is_folder=at_folder):
                return True
        return False


PLAIN_SCAN: Final = FolderScan()


class _Walk:
    """A scan of a folder."""

    def __init__(self, folder: str, ignored: Ignored | None, excluded: Ignored) -> None:
        self._folder = folder
        self._excluded = excluded
        self._files: list[str] = []
        self._skipped: list[FileFailure] = []
        self._unread: list[FileFailure] = []
        self._hidden = self._modules = self._ignored = 0
        self._pending = [("", ignored)]

    def contents(self) -> FolderContents:
        while self._pending:
            self._look(*self._pending.pop())
        return FolderContents(
            tuple(sorted(self._files)),
            tuple(self._skipped),
            tuple(self._unread),
            LeftOut(self._hidden, self._modules, self._ignored),
        )

    def _look(self, below: str, ignored: Ignored | None) -> None:
        here = "/".join(filter(None, (self._folder.rstrip("/"), below))) or "/"
        try:
            opened = open_folder(self._folder, below)
        except (OSError, Refused) as error:
            reason = error.what if isinstance(error, Refused) else f"Cannot read the folder ({error.strerror})"
            self._unread.append(FileFailure(here, reason))
            return
        try:
            if ignored is not None:
                ignored = ignored.below(here, opened)
            with os.scandir(opened) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
            for entry in ordered:
                self._sort(entry, here, below, ignored)
        except OSError as error:
            self._unread.append(FileFailure(here, f"Cannot read the folder ({error.strerror})"))
        finally:
            os.close(opened)

    def _sort(self, entry: "os.DirEntry[str]", here: str, below: str, ignored: Ignored | None) -> None:
        path = f"{here.rstrip('/')}/{entry.name}"
        is_folder = entry.is_dir(follow_symlinks=False)
        is_file = is_document(entry.name) and entry.is_file(follow_symlinks=False)
        if entry.name.startswith("."):
            self._hidden += is_folder or is_file
        elif entry.name in SKIPPED_FOLDERS:
            self._modules += is_folder
        elif (is_folder or is_file) and (
            self._excluded.has(path, is_folder=is_folder) or (ignored and ignored.has(path, is_folder=is_folder))
        ):
            self._ignored += 1
        elif is_folder:
            self._pending.append((f"{below}/{entry.name}" if below else entry.name, ignored))
        elif is_file:
            self._files.append(path)
        elif reason := _why_skipped(entry, path, self._folder):
            self._skipped.append(FileFailure(path, reason))


def _why_skipped(entry: "os.DirEntry[str]", path: str, folder: str) -> str | None:
    """The reason to report; None if no document was to be expected, or if a link's target is below the folder."""
    if not entry.is_symlink():
        return "It is not a regular file" if is_document(entry.name) else None
    try:
        target = Path(path).resolve(strict=True)
    except (OSError, RuntimeError):  # before Python 3.13, a loop of links is a RuntimeError
        return "The link is broken" if is_document(entry.name) else None
    if target.is_relative_to(folder) or not (target.is_dir() or is_document(entry.name)):
        return None
    return "The link points outside the folder"
