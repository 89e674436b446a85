"""An executor's folder on this machine, which one server at a time uses, and copies of stored files in it."""

import fcntl
import hashlib
import json
import math
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from loci.adapters.run_results import (
    KnownVariables,
    VariablesSnapshot,
    known_from_json,
    known_to_json,
    safe_name,
)
from loci.code.ports import LostVariable, StoredContent, StoredFiles
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.full_disk import disk_error
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.sandbox.supervisor.executor_files import remove
from loci.sandbox.supervisor.fork_server_client import WorkFolders
from loci.sandbox.supervisor.variables import UnreadableError

WORK, SCRATCH, MEMORY, ARRIVING = "work", "scratch", "memory", "arriving"
OWNER, LOCK, KNOWN, RUNNING = "owner.json", "lock", "known.json", "running"
LONGEST_ID = 1024
"""Characters. Documents can be asked for by their paths."""
NEW_SECONDS = 60.0
OF_AN_OWNER = 8 << 30
"""Bytes of saved variables of all executors of an owner."""
PREFIX = "variables-"
READ = 1 << 20


class ExecutorFolder:
    """Files of an executor's code, its owner, a lock for the server that uses it, and a note of its variables."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @property
    def id(self) -> str:
        """The executor's."""
        return self.path.name

    @property
    def work_folders(self) -> WorkFolders:
        return WorkFolders(self.path / WORK, self.path / SCRATCH, self.path / MEMORY)

    def acquire(self) -> bool:
        """Lock it for this server, until `release` or until this process ends. False if another one has it."""
        while self._lock is None:
            for name in (WORK, SCRATCH, MEMORY, ARRIVING):
                (self.path / name).mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
            if os.fstat(descriptor).st_nlink:
                self._lock = descriptor
                for left in (self.path / ARRIVING).iterdir():  # by a server that was killed
                    left.unlink()
            else:  # a sweep has just removed it: nobody had it yet
                os.close(descriptor)
        return True

    def release(self) -> None:
        """Let another server use it."""
        if self._lock is not None:
            # Closing is not enough: a program that another thread is just starting has it open, too, for a moment.
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            os.close(self._lock)
            self._lock = None

    def set_owner(self, owner: Owner) -> None:
        """Note the owner, for a later sweep."""
        if self.owner() != owner:
            (self.path / OWNER).write_text(json.dumps([owner.tenant, owner.subject]), "utf-8")

    def owner(self) -> Owner | None:
        """The owner; None if it has none yet."""
        try:
            tenant, subject = json.loads((self.path / OWNER).read_text("utf-8"))
            return Owner(tenant, subject)
        except (OSError, ValueError):
            return None

    def note(self, known: KnownVariables) -> None:
        """Note the variables. After a crash nothing else can name what is lost."""
        arriving = self.path / f"{KNOWN}.new"
        arriving.write_text(json.dumps(known_to_json(known)), "ascii")
        arriving.replace(self.path / KNOWN)

    def known(self) -> KnownVariables:
        """The variables that were noted last, and if a run has begun since that was not answered."""
        try:
            noted = known_from_json(json.loads((self.path / KNOWN).read_text("ascii")))
        except (OSError, ValueError, KeyError, TypeError):
            noted = KnownVariables()
        return replace(noted, is_cut_off=(self.path / RUNNING).exists())

    def begin_run(self) -> None:
        """Note that a run has begun."""
        os.close(os.open(self.path / RUNNING, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))

    def end_run(self) -> None:
        """Note that the run is answered."""
        with suppress(OSError):
            (self.path / RUNNING).unlink()

    def used_at(self) -> float:
        """The time when it was last used, or made."""
        for path in (self.path / LOCK, self.path):
            with suppress(OSError):
                return path.stat().st_mtime
        return math.inf

    def remove_left(self) -> None:
        """Remove it if nobody owns it: a killed server left it, unless a living one has it or may just be making it."""
        is_new = 0 <= time.time() - self.used_at() < NEW_SECONDS  # the file system has set that time
        if self.owner() is None and not is_new and self.acquire():
            self.remove()

    def touch(self, now: float) -> None:
        """Note that it is used now."""
        os.utime(self.path / LOCK, (now, now))

    def empty(self) -> None:
        """Remove the code's files, and the copies of stored files."""
        folders = self.work_folders
        for folder in (folders.work, folders.scratch, folders.memory):
            remove(str(folder))
            folder.mkdir(exist_ok=True, mode=0o700)

    def remove(self) -> None:
        """Remove all of it. The lock is kept until then: nobody else takes what goes."""
        remove(str(self.path))
        self.release()


class StoredFileCopies:
    """Answers requests for stored files with copies that the code cannot change."""

    def __init__(self, folder: ExecutorFolder, files: StoredFiles, owner: Owner) -> None:
        self._folder = folder
        self._files = files
        self._owner = owner

    def __call__(self, id: str, _: str) -> dict[str, str]:
        """The copy's path behind the wall, or the reason why there is no copy. Only the id counts: names change."""
        try:
            stored = self._files.read(self._owner, id[:LONGEST_ID])
            return {"path": str(self._copied(id, stored))}
        except LociError as error:
            return {"missing": f"{error.code}: {error}"}
        except OSError as error:
            return {"missing": f"The file could not be copied ({error.strerror})"}

    def _copied(self, id: str, stored: StoredContent) -> Path:
        folder = self._folder.work_folders.memory / content_id(id, stored.version)
        path = folder / safe_name(stored.name)
        if path.is_file():
            return path
        # The executor sees it whole or not at all: it cannot reach the folder in which it is written.
        arriving = self._folder.path / ARRIVING / secrets.token_hex(8)
        content = stored.content
        arriving.write_bytes(content if isinstance(content, bytes) else content.read())
        arriving.chmod(0o444)
        folder.mkdir(exist_ok=True, mode=0o755)
        return arriving.replace(path)


class SavedBytes:
    """The bytes of saved variables that each owner has, counted while they are written. Any thread may call."""

    def __init__(self, folder: Path, most: int = OF_AN_OWNER) -> None:
        self._folder = folder
        self.most = most
        self._turn = threading.Lock()
        self._owners: dict[str, dict[str, int]] = {}

    def room(self, owner: Owner, id: str) -> int:
        """The bytes that this executor may save: what it saved before is replaced."""
        with self._turn:
            return max(0, self.most - self._others(owner, id))

    def count(self, owner: Owner, id: str, size: int) -> bool:
        """Count the executor's variables with this size. False, and nothing is counted, if that is too much."""
        with self._turn:
            is_room = self._others(owner, id) + size <= self.most
            if is_room:
                self._owners[owner.key][id] = size
            return is_room

    def forget(self, owner: Owner, id: str) -> None:
        """Count the executor no more."""
        with self._turn:
            self._owners.get(owner.key, {}).pop(id, None)

    def _others(self, owner: Owner, id: str) -> int:
        if owner.key not in self._owners:
            there = [ExecutorFolder(path) for path in self._folder.glob("executor-*")]
            mine = {one.id: one.known().snapshot for one in there if one.owner() == owner}
            self._owners[owner.key] = {one: held.size for one, held in mine.items() if held is not None}
        return sum(size for one, size in self._owners[owner.key].items() if one != id)


class VariablesWriter:
    """Writes variables to a new file. What was saved before stays until `keep_only`."""

    def __init__(self, folder: ExecutorFolder, may_have: Callable[[int], bool], most: int) -> None:
        self._path = folder.path / f"{PREFIX}{secrets.token_hex(8)}"
        self._may_have = may_have
        self._most = most
        self._file = self._path.open("xb")
        self._digest = hashlib.sha256()
        self._size = 0
        self._failure: LociError | None = None

    def write(self, content: bytes) -> None:
        """Take the next bytes. It never raises, since the executor must hand over all of them."""
        if self._failure is not None:
            return
        self._size += len(content)
        if not self._may_have(self._size):
            what = f"your executors' saved variables together take more than {self._most >> 20:,} MB"
            self._failure = Refused(what, "Delete variables that are no longer needed", code="STATE_TOO_LARGE")
            return
        self._digest.update(content)
        try:
            self._file.write(content)
        except OSError as error:
            self._failure = self._write_error(error)

    def finish(self, kept: Sequence[str], lost: Sequence[LostVariable]) -> VariablesSnapshot:
        """The snapshot, once all bytes are in the file. Raises the `LociError` of what could not be written."""
        try:
            self._file.close()
        except OSError as error:
            self._failure = self._failure or self._write_error(error)
        if self._failure is not None:
            self.abandon()
            raise self._failure
        generation = self._path.name.removeprefix(PREFIX)
        return VariablesSnapshot(generation, (self._digest.hexdigest(),), self._size, tuple(kept), tuple(lost))

    def abandon(self) -> None:
        """Remove what was written."""
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self._path.unlink()

    def _write_error(self, error: OSError) -> LociError:
        return disk_error(error, self._path.parent) or Unavailable(
            f"The variables could not be written ({error.strerror})", "Check the disk, then try again"
        )


def keep_only(folder: ExecutorFolder, snapshot: VariablesSnapshot) -> None:
    """Remove all saved variables but these: earlier ones, and what a crash left half written."""
    for path in folder.path.glob(f"{PREFIX}*"):
        if path.name != f"{PREFIX}{snapshot.generation}":
            with suppress(OSError):
                path.unlink()


def read_variables(folder: ExecutorFolder, snapshot: VariablesSnapshot) -> Iterator[bytes]:
    """Read the variables, piece by piece; `UnreadableError` if their file is gone or has changed."""
    digest = hashlib.sha256()
    try:
        with (folder.path / f"{PREFIX}{snapshot.generation}").open("rb") as file:
            while piece := file.read(READ):
                digest.update(piece)
                yield piece
    except OSError as error:
        raise UnreadableError(f"their file: {error.strerror}") from None
    if (digest.hexdigest(),) != snapshot.pieces:
        raise UnreadableError("A saved state is damaged")
