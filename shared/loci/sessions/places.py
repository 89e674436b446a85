"""The places of transcripts: below the home folder, or a folder or file that a person names."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

from loci.core.atomic_write import open_file
from loci.core.errors import NotFound
from loci.documents.document import FileStamp

DATABASE: Final = "state.vscdb"
LONGEST_PATH: Final = 500
"""Characters below the folder."""
ANY: Final = re.compile(rf".*\.jsonl?|(?:.*/)?(?:agent-transcripts/[^/]+\.txt|{re.escape(DATABASE)})")
_AT_HOME: Final = (
    (".claude/projects", r"[^/]+/[^/]+\.jsonl"),
    (".config/claude/projects", r"[^/]+/[^/]+\.jsonl"),
    (".codex/sessions", r".*\.jsonl"),
    (".codex/archived_sessions", r".*\.jsonl"),
    (".gemini/tmp", r"[^/]+/chats/session-[^/]*\.jsonl?"),
    (".cursor/projects", r"[^/]+/agent-transcripts/(?!.*subagents/).*\.(?:jsonl|txt)"),
    (".config/Cursor/User/globalStorage", re.escape(DATABASE)),
    ("Library/Application Support/Cursor/User/globalStorage", re.escape(DATABASE)),
)
AT_HOME: Final = {folder: re.compile(pattern) for folder, pattern in _AT_HOME}
"""Folders below the home folder, and the paths of transcripts in them. Those of helpers lie deeper."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with transcripts, with all links to it followed."""

    folder: str
    pattern: re.Pattern[str] = ANY
    only: str | None = None
    """The path of its only transcript."""

    def transcripts(self) -> Iterator["Transcript"]:
        """The transcripts of the user who runs Loci. No link is followed."""
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = f"{folder}/{name}"
                below = path[len(self.folder) :].lstrip("/")
                if self._holds(below) and (found := self._own(below)):
                    yield found

    def has(self, path: str) -> bool:
        """True if this is the path of a transcript here."""
        below = path.removeprefix(f"{self.folder}/")
        return below != path and self._holds(below)

    def _holds(self, below: str) -> bool:
        if self.only:
            return below == self.only
        return len(below) <= LONGEST_PATH and self.pattern.fullmatch(below) is not None

    def find(self, path: str) -> "Transcript | None":
        """The transcript at that path here, if it is the user's own."""
        return self._own(path.removeprefix(f"{self.folder}/")) if self.has(path) else None

    def _own(self, below: str) -> "Transcript | None":
        try:
            seen = os.lstat(f"{self.folder}/{below}")
        except OSError:
            return None
        is_own = stat.S_ISREG(seen.st_mode) and seen.st_uid == os.getuid()
        stamp = seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
        return Transcript(self.folder, below, stamp) if is_own else None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A file with one session, or a database with several."""

    folder: str
    below: str
    stamp: FileStamp

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.below}"

    @property
    def changed(self) -> str:
        """The time of its last change, in UTC."""
        return datetime.fromtimestamp(self.stamp[2] / 1e9, UTC).strftime("%Y-%m-%d %H:%M")

    @property
    def is_database(self) -> bool:
        return self.path.endswith(DATABASE)

    @property
    def is_text(self) -> bool:
        return self.path.endswith(".txt")

    def open(self) -> int:
        """A descriptor of the file, which is the one that was looked at, or a later one of the user."""
        opened = open_file(self.folder, self.below)
        if os.fstat(opened).st_uid != os.getuid():
            os.close(opened)
            raise PermissionError
        return opened

    def named_folder(self) -> str:
        """The working directory that the place of the file tells, where the transcript itself does not."""
        project, is_cursor, _ = self.below.partition("/agent-transcripts/")
        if is_cursor:
            return folder_of_slug(project.rpartition("/")[2])
        project, is_gemini, _ = self.below.partition("/chats/")
        if is_gemini:
            try:
                with os.fdopen(open_file(self.folder, f"{project}/.project_root"), "rb") as file:
                    return file.read(4096).decode("utf-8", "replace").strip()
            except OSError:
                # A hash says nothing; a name is that of the project.
                name = project.rpartition("/")[2]
                return "" if re.fullmatch("[0-9a-f]{64}", name) else name
        return ""


def home_places() -> list[Place]:
    """The places of all clients below the home folder that exist."""
    home = Path.home()
    return [
        Place(os.path.realpath(home / folder), pattern)
        for folder, pattern in AT_HOME.items()
        if (home / folder).is_dir()
    ]


def named_place(path: str) -> Place:
    """The place that a person names: a folder, or one file."""
    real = os.path.realpath(Path(path).expanduser())
    if not Path(real).exists():
        raise NotFound(f"There is no {path!r} here", "Name a folder with transcripts, or one", code="NO_SUCH_PATH")
    if Path(real).is_dir():
        return Place(real)
    above, _, name = real.rpartition("/")
    return Place(above, only=name)


@lru_cache(1000)
def repository_of(folder: str) -> str:
    """The name of the repository with that working directory: of the folder with `.git`, else of the directory."""
    path = Path(folder)
    for one in (path, *path.parents) if path.is_absolute() else ():
        git = one / ".git"
        try:
            if git.is_dir():
                return one.name
            if git.is_file():  # a worktree names its repository
                named = git.read_text("utf-8", "replace")[:4096].removeprefix("gitdir:").strip()
                main = named.partition("/.git/")[0] if "/.git/" in named else ""
                return Path(main).name or one.name
        except OSError:
            break
    return path.name


@lru_cache(1000)
def folder_of_slug(slug: str) -> str:
    """The folder whose path was written with hyphens; the slug itself if that folder is gone."""
    found = [("", _plain(slug))]
    while found:
        folder, left = found.pop()
        if not left:
            return folder
        try:
            with os.scandir(folder or "/") as entries:
                names = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        for name in names:
            plain = _plain(name)
            if plain and (left == plain or left.startswith(f"{plain}-")):
                found.append((f"{folder}/{name}", left[len(plain) + 1 :]))
    return slug


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
