"""The files below a folder that are documents."""

import os
from dataclasses import dataclass
from pathlib import Path, PurePath

from loci.documents.document import FileFailure

SUFFIXES = frozenset((".md", ".markdown", ".mdx", ".txt"))
SKIPPED_FOLDERS = frozenset(("node_modules",))


@dataclass(frozen=True, slots=True)
class FoundFile:
    """What is there. Paths are whole."""

    files: tuple[str, ...] = ()
    skipped: tuple[FileFailure, ...] = ()
    """What looks like a document and is none."""
    unread: tuple[FileFailure, ...] = ()
    """Folders of which nobody knows what is in them."""


def scan(folder: str) -> FoundFile:
    """All documents below the folder, in the order of their paths: hidden ones left out, links not followed."""
    files: list[str] = []
    skipped: list[FileFailure] = []
    unread: list[FileFailure] = []
    pending = [folder]
    while pending:
        here = pending.pop()
        try:
            with os.scandir(here) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            unread.append(FileFailure(here, f"The folder cannot be read ({error.strerror})"))
            continue
        for entry in ordered:
            if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS:
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif entry.is_file(follow_symlinks=False) and is_document(entry.name):
                files.append(entry.path)
            elif why := _why_skipped(entry, folder):
                skipped.append(FileFailure(entry.path, why))
    return FoundFile(tuple(sorted(files)), tuple(skipped), tuple(unread))


def is_document(name: str) -> bool:
    """Whether a file of that name is taken in."""
    return PurePath(name).suffix.lower() in SUFFIXES


def _why_skipped(entry: "os.DirEntry[str]", folder: str) -> str | None:
    """None for what nobody takes for a document, and for a link to what is below the folder: that is found there."""
    if not entry.is_symlink():
        return "It is no file" if is_document(entry.name) else None
    try:
        target = Path(entry).resolve(strict=True)
    except (OSError, RuntimeError):  # Python before 3.13 says RuntimeError of links that go round
        return "The link leads nowhere" if is_document(entry.name) else None
    if target.is_relative_to(folder) or not (target.is_dir() or is_document(entry.name)):
        return None
    return "The link leads out of the folder"
