"""An executor's folders on this machine, which one server at a time uses."""

import fcntl
import json
import math
import os
from contextlib import suppress
from pathlib import Path

from loci.core.identity import Owner
from loci.sandbox.supervisor.executor_files import remove
from loci.sandbox.supervisor.fork_server_client import WorkFolders

WORK, SCRATCH, MEMORY, ARRIVING = "work", "scratch", "memory", "arriving"
OWNER, LOCK, VARIABLES = "owner.json", "lock", "variables.json"


class ExecutorFolders:
    """One folder an executor: what its code writes and reads, whose it is, and who uses it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: int | None = None

    @property
    def folders(self) -> WorkFolders:
        return WorkFolders(self.folder / WORK, self.folder / SCRATCH, self.folder / MEMORY)

    def take(self) -> bool:
        """Whether it is this server's now; until `release`, or until this process ends."""
        if self._lock is not None:
            return True
        for name in (WORK, SCRATCH, MEMORY, ARRIVING):
            (self.folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def release(self) -> None:
        """Another server may use it."""
        if self._lock is not None:
            # Closing is not enough: a program that another thread is just starting has it open, too, for a moment.
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            os.close(self._lock)
            self._lock = None

    def name(self, owner: Owner) -> None:
        """Say whose it is, for whoever cleans up."""
        (self.folder / OWNER).write_text(json.dumps([owner.tenant, owner.subject]), "utf-8")

    def owner(self) -> Owner | None:
        """Whose it is; None where it was nobody's yet."""
        try:
            tenant, subject = json.loads((self.folder / OWNER).read_text("utf-8"))
            return Owner(tenant, subject)
        except (OSError, ValueError):
            return None

    def note_variables(self, names: tuple[str, ...]) -> None:
        """Say which variables there are, for who has to tell after a crash which of them are lost."""
        arriving = self.folder / f"{VARIABLES}.new"
        arriving.write_text(json.dumps(names), "ascii")
        arriving.replace(self.folder / VARIABLES)

    def variables(self) -> tuple[str, ...]:
        """The variables after the last run that was answered."""
        try:
            return tuple(json.loads((self.folder / VARIABLES).read_text("ascii")))
        except (OSError, ValueError):
            return ()

    def used(self) -> float:
        """When it was last said to be used, or was made."""
        for path in (self.folder / LOCK, self.folder):
            with suppress(OSError):
                return path.stat().st_mtime
        return math.inf

    def touch(self, now: float) -> None:
        """It is used now."""
        os.utime(self.folder / LOCK, (now, now))

    def empty(self) -> None:
        """Take out what the code wrote and what it was given."""
        for folder in (self.folders.work, self.folders.scratch, self.folders.memory):
            remove(str(folder))
            folder.mkdir(exist_ok=True, mode=0o700)

    def remove(self) -> None:
        """All of it is gone."""
        self.release()
        remove(str(self.folder))
