"""Finds the documents in folders of this machine, and counts what it leaves out."""

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from loci.core.atomic_write import open_folder
from loci.core.errors import Refused
from loci.documents.ingest.gitignore import Ignored, folders_to, ignored_above
from loci.documents.ingest.local_files import SKIPPED_FOLDERS, is_document
from loci.documents.ingest.outcome import NOTHING_LEFT_OUT, FileFailure, LeftOut


@dataclass(frozen=True, slots=True)
class FolderContents:
    """The documents in a folder. All paths are absolute."""

    files: tuple[str, ...] = ()
    skipped: tuple[FileFailure, ...] = ()
    """Paths that look like documents but are not."""
    unread: tuple[FileFailure, ...] = ()
    """Folders that could not be read: nobody knows what is in them."""
    left_out: LeftOut = NOTHING_LEFT_OUT


@dataclass(frozen=True, slots=True)
class FolderScan:
    """Finds documents. It skips hidden files and does not follow links."""

    with_gitignore: bool = False
    """True: it skips also what `.gitignore` files name."""

    def contents(self, folder: str, top: str | None = None) -> FolderContents:
        """All documents below the folder, sorted by path. `top` is the folder of a larger scan that it is part of."""
        return _Walk(folder, ignored_above(top or folder, folder) if self.with_gitignore else None).contents()

    def leaves_out(self, top: str, path: str, *, is_folder: bool = False) -> bool:
        """True if a scan of the folder `top` would leave out that path, which is below it."""
        names = path[len(top) :].strip("/").split("/")
        if any(name.startswith(".") or name in SKIPPED_FOLDERS for name in names):
            return True
        if not self.with_gitignore:
            return False
        ignored = ignored_above(top, top)
        for above, below in pairwise([*folders_to(top, path), path]):
            ignored = ignored.in_folder(above)
            if ignored.has(below, is_folder=is_folder or below != path):
                return True
        return False


PLAIN_SCAN: Final = FolderScan()


class _Walk:
    """A scan of a folder."""

    def __init__(self, folder: str, ignored: Ignored | None) -> None:
        self._folder = folder
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
        elif (is_folder or is_file) and ignored and ignored.has(path, is_folder=is_folder):
            self._ignored += 1
        elif is_folder:
            self._pending.append((f"{below}/{entry.name}" if below else entry.name, ignored))
        elif is_file:
            self._files.append(path)
        elif reason := _why_skipped(entry, path, self._folder):
            self._skipped.append(FileFailure(path, reason))


def _why_skipped(entry: "os.DirEntry[str]", path: str, folder: str) -> str | None:
    """The reason to report. None if nobody would expect a document, or if a link's target is below the folder."""
    if not entry.is_symlink():
        return "It is not a regular file" if is_document(entry.name) else None
    try:
        target = Path(path).resolve(strict=True)
    except (OSError, RuntimeError):  # before Python 3.13, a loop of links is a RuntimeError
        return "The link is broken" if is_document(entry.name) else None
    if target.is_relative_to(folder) or not (target.is_dir() or is_document(entry.name)):
        return None
    return "The link points outside the folder"
