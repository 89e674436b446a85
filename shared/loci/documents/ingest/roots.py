"""Where documents of this machine lie: a root's folder, and the way below it."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from loci.core.errors import NotFound, Refused
from loci.documents.document import Root
from loci.documents.ingest.folder_scan import SUFFIXES, is_document


@dataclass(frozen=True, slots=True)
class RootLocation:
    """A folder or a file that somebody named, and what they call its folder."""

    path: str
    is_folder: bool
    name: str

    @property
    def folder(self) -> str:
        return self.path if self.is_folder else str(Path(self.path).parent)


def place(path: str) -> RootLocation:
    """The path with all links followed; `NotFound` where nothing is."""
    try:
        real = Path(path).expanduser().resolve(strict=True)
        is_folder = real.is_dir()
    except (OSError, RuntimeError, ValueError):  # RuntimeError: links that go round, ValueError: a NUL
        raise NotFound(
            f"There is no {path!r} here",
            "Correct the path; what is gone is taken out with: loci forget PATH",
            code="NO_SUCH_PATH",
        ) from None
    if not is_folder and not is_document(real.name):
        raise Refused(
            f"{path} is no document", f"Documents end in {', '.join(sorted(SUFFIXES))}", code="NOT_A_DOCUMENT"
        )
    said = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100  (its name as it was said, links and all)
    return RootLocation(str(real), is_folder, (said if is_folder else said.parent).name or "files")


def root_of(file: str, by_folder: Mapping[str, Root]) -> list[Root]:
    """The innermost root that the file or folder lies in, if there is one."""
    above = (by_folder.get(folder) for folder in (file, *map(str, Path(file).parents)))
    return [root for root in above if root][:1]


def path_of(file: str, root: Root) -> str:
    """The document's path as people know it."""
    return f"{root.name}/{file[len(root.folder) :].lstrip('/')}"


def file_of(path: str, root: Root) -> str:
    """Where the document of that path lies."""
    return f"{root.folder.rstrip('/')}/{below_root(path)}"


def below_root(path: str) -> str:
    """The way from the root to the document."""
    return path.partition("/")[2]


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether the path is one of these, or lies in one."""
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)
