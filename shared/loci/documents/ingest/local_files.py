"""Files and folders on this machine: which are documents, to which root they belong, and how to read one safely."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from loci.core.atomic_write import open_file
from loci.core.errors import NotFound, Refused
from loci.documents.document import FileStamp, Root

TEXTS = "documents/"
"""The first part of the blob keys of documents' texts."""
SUFFIXES = frozenset((".md", ".markdown", ".mdx", ".txt"))
SKIPPED_FOLDERS = frozenset(("node_modules",))
MAX_DOCUMENT_BYTES = 10 * 1024 * 1024
READ_ATTEMPTS = 3
SAME_TICK = 0.05
"""Seconds within which two writes of a file may leave the same timestamps: file systems round them."""


def is_document(name: str) -> bool:
    """True if a file of that name is a document."""
    return os.path.splitext(name.rstrip("/"))[1].lower() in SUFFIXES  # noqa: PTH122 (`Path` takes ten times as long)


def is_regular_file(path: str) -> bool:
    """True if there is a file at the path that is not a link. A path that cannot be inspected counts as a file."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def is_utf8(path: str) -> bool:
    """True if the path can be encoded as UTF-8, which a document's path must be."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_file(folder: str, path: str) -> bytes:
    """The bytes of the file at that path below the folder, all from one moment.

    Refused if it is not a regular file, if a part of its path is a link, if it is too large, or if it changes at every
    attempt to read it.
    """
    file = Path(folder, path)
    try:
        for _ in range(READ_ATTEMPTS):
            content = _read_once(folder, path)
            if content is not None:
                return content
    except FileNotFoundError:
        advice = "Restore the file, or remove its document with: loci forget"
        raise NotFound(f"{file} does not exist any more", advice, code="FILE_GONE") from None
    except OSError as error:
        advice = "Fix the file or its permissions"
        raise Refused(f"Cannot read {file} ({error.strerror})", advice, code="FILE_UNREADABLE") from error
    advice = "Try again when nobody writes to it"
    raise Refused(f"{file} changed while Loci read it", advice, code="FILE_CHANGING")


def stamp_of(seen: os.stat_result, now: float) -> FileStamp | None:
    """The stamp of a file with this status. None: it is so fresh that it may change without a new stamp."""
    is_fresh = abs(now - seen.st_mtime) < SAME_TICK
    return None if is_fresh else (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)


def file_day(folder: str, path: str) -> str | None:
    """The day on which the file at that path below the folder last changed. None if it is not there."""
    try:
        seconds = Path(folder, path).lstat().st_mtime
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (OSError, OverflowError, ValueError):
        return None


def _read_once(folder: str, path: str) -> bytes | None:
    """The content, or None if the file changed meanwhile."""
    file = Path(folder, path)
    with os.fdopen(open_file(folder, path), "rb") as opened:
        before = os.fstat(opened.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise Refused(f"{file} is not a regular file", "Name a file, or the folder that it is in", code="NO_FILE")
        if before.st_size > MAX_DOCUMENT_BYTES:
            size, most = before.st_size / 2**20, MAX_DOCUMENT_BYTES / 2**20
            what = f"{file} has {size:.0f} MB, more than the limit of {most:.0f} MB"
            raise Refused(what, "Split it", code="FILE_TOO_LARGE")
        content = opened.read(MAX_DOCUMENT_BYTES + 1)
        after = os.fstat(opened.fileno())
    is_same = before.st_mtime_ns == after.st_mtime_ns and before.st_size == after.st_size == len(content)
    return content if is_same else None


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
    return next((by_folder[folder] for folder in (file, *parents_of(file), "/") if folder in by_folder), None)


def parents_of(path: str) -> Iterator[str]:
    """The folders that contain the path, from the innermost on, without the outermost."""
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


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


def blob_key(id: str) -> str:
    """The blob key of an uploaded document's text."""
    return f"{TEXTS}{id}"


def plain_path(name: str) -> str:
    """The path without empty and `.` parts."""
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def checked_path(path: str) -> str:
    """The document path without empty and `.` parts; `Refused` if it has `..` or cannot be a document's."""
    plain = plain_path(path)
    if not plain or ".." in plain.split("/") or not path.isprintable() or not is_document(path):
        advice = "Use a path such as briefs/auth.md, without .."
        raise Refused(f"{path!r} is not a path of a document", advice, code="BAD_PATH")
    return plain
