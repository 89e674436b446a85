"""Root folders on this machine: which files belong to one, and which folders have lost their documents."""

import os
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loci.core.errors import NotFound, Refused
from loci.documents.document import MissingFolder, Root
from loci.documents.ingest.local_files import SUFFIXES, is_document


@dataclass(frozen=True, slots=True)
class LocalPath:
    """A folder or a document file that the user named."""

    path: str
    """Absolute, with all links followed."""
    is_folder: bool
    name: str
    """The folder's name as the user wrote it, links and all."""

    @property
    def folder(self) -> str:
        return self.path if self.is_folder else str(Path(self.path).parent)


def local_path(path: str) -> LocalPath:
    """The path with all links followed. `NotFound` if it does not exist, `Refused` if it is another kind of file."""
    try:
        real = Path(path).expanduser().resolve(strict=True)
        is_folder = real.is_dir()
    except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop of links, ValueError: a NUL
        raise NotFound(
            f"There is no {path!r} here",
            "Correct the path. To remove documents whose files are gone, run: loci forget PATH",
            code="NO_SUCH_PATH",
        ) from None
    if not is_folder and not is_document(real.name):
        advice = f"Names of documents end in {', '.join(sorted(SUFFIXES))}"
        raise Refused(f"{path} is not a document", advice, code="NOT_A_DOCUMENT")
    written = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100  (`resolve` would follow links)
    return LocalPath(str(real), is_folder, (written if is_folder else written.parent).name or "files")


def root_of(file: str, by_folder: Mapping[str, Root]) -> Root | None:
    """The innermost root that contains the file or folder."""
    above = (by_folder.get(folder) for folder in (file, *map(str, Path(file).parents)))
    return next((root for root in above if root), None)


def path_of(file: str, root: Root) -> str:
    """The document path of the file: the root's name, then the path below the root."""
    return f"{root.name}/{file[len(root.folder) :].lstrip('/')}"


def file_of(path: str, root: Root) -> str:
    """The file of the document at that path."""
    return f"{root.folder.rstrip('/')}/{below_root(path)}"


def below_root(path: str) -> str:
    """The document's path without the root's name."""
    return path.partition("/")[2]


def is_below(path: str, folders: Iterable[str]) -> bool:
    """True if the path is one of the folders or lies in one."""
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def missing_folders(folders: Iterable[str], files: Sequence[str], unread: Sequence[str]) -> list[str]:
    """The outermost folders that contain none of the files, which are sorted. An unmounted disk looks like that.

    A folder inside one that could not be read is not missing: nobody knows what is in it.
    """
    missing: list[str] = []
    for folder in sorted(set(folders)):
        if not is_below(folder, [*missing, *unread]) and not _contains_any(folder, files):
            missing.append(folder)
    return missing


def missing_with_counts(missing: Sequence[str], files: Sequence[str]) -> tuple[MissingFolder, ...]:
    """The missing folders that had some of the files, each with how many."""
    counts = {folder: sum(is_below(file, [folder]) for file in files) for folder in missing}
    return tuple(MissingFolder(folder, count) for folder, count in counts.items() if count)


def _contains_any(folder: str, files: Sequence[str]) -> bool:
    start = f"{folder.rstrip('/')}/"
    at = bisect_left(files, start)
    return at < len(files) and files[at].startswith(start)
