"""The data folder: checks that it is writable, keeps the signing secret and some free disk space, and cleans up."""

import fcntl
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from loci.core.atomic_write import remove_if_left
from loci.core.errors import Misconfigured, Unavailable
from loci.core.full_disk import current_freeing, disk_error
from loci.core.identity import Owner
from loci.core.signing import SHORTEST_SECRET
from loci.core.storage_keys import CALLS

TEMPORARY = re.compile(r"\.[0-9a-f]{16}|\.[a-z0-9_]{8}|\.(?:secret|probe)-[0-9a-f]{8}|\.command-[0-9]+")
"""The names of temp files, of this version of Loci and of earlier ones."""


def make_writable(folder: Path) -> None:
    """Make the folder if it is missing. Raises `Misconfigured` if Loci cannot write to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = folder / f".probe-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise disk_error(error, folder) or Misconfigured(
            f"Cannot write to the data folder {folder} ({error.strerror})",
            "Choose another with --data DIR or LOCI_DATA",
        ) from None


def load_secret(path: Path) -> str:
    """The secret in the file. The first start makes it; if two start at once, both get the same one."""
    try:
        if not path.exists():
            _make(path)
        secret = path.read_text(encoding="ascii").strip()
    except OSError as error:
        advice = "Check its permissions, and that there is space"
        raise disk_error(error, path) or Misconfigured(
            f"Cannot keep a secret in {path} ({error.strerror})", advice
        ) from None
    except UnicodeDecodeError:
        secret = ""
    if len(secret) < SHORTEST_SECRET:
        raise Misconfigured(
            f"{path} holds no secret", "Restore it from a copy, or delete it: every session then starts again"
        )
    return secret


def sweep_data(folder: Path) -> None:
    """Remove what killed processes left: temp files, locks, and executors and readers that nobody had taken yet."""
    from loci.adapters.local.executors.executor_folder import ExecutorFolder  # a start does without

    for here, folders, names in os.walk(folder):
        if Path(here) == folder:
            folders[:] = {"blobs", "turns", "following"}.intersection(folders)
        for name in names:
            if Path(here) == folder / "turns" or TEMPORARY.fullmatch(name):
                remove_if_left(Path(here, name))
    for path in [*folder.glob("readers/executor-*"), *folder.glob("executors/executor-*")]:
        with suppress(OSError):
            ExecutorFolder(path).remove_left()


def remove_folders(folder: Path, owner: Owner) -> int:
    """Remove the owner's events, log of calls and executors, and return the number of executors."""
    from loci.adapters.local.executors.executor_folder import ExecutorFolder  # a start does without

    number = 0
    for path in folder.glob("executors/executor-*"):
        executor = ExecutorFolder(path)
        if (its := executor.owner()) is not None and its.key == owner.key:
            if not executor.acquire():
                what = "A server of this data folder runs Python for this owner"
                raise Unavailable(what, "Stop the server, and repeat it", code="EXECUTOR_IN_USE")
            executor.remove()
            number += 1
    for log in ("events", CALLS):
        shutil.rmtree(folder / log / owner.key, ignore_errors=True)
    return number


def _make(path: Path) -> None:
    scratch = path.with_name(f".secret-{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(scratch, path)
        except FileExistsError:
            return
        except OSError:  # this file system has no hard links
            scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


RESERVE_FILE = "reserve"
RESERVE_BYTES = 16 << 20
"""The size of the database's log at its largest: there must be room to move all of the log into the database."""
PIECE = 1 << 20


class Reserve:
    """A file that keeps disk space for deletions: even on a full disk, a deletion must be written down.

    A deletion that needs the space truncates the file. The file grows back when the deletion ends, or before the next
    write. All processes with the same data folder share it, and none refills it during a deletion.
    """

    def __init__(self, folder: Path, tidy: Callable[[], None] = lambda: None) -> None:
        """`tidy` frees the disk space that the log of a deletion takes."""
        self._file = folder / RESERVE_FILE
        self.tidy = tidy

    def make(self) -> None:
        """Make the file if at least as much space again stays free."""
        if not self._file.exists() and self._free() >= 2 * RESERVE_BYTES:
            self._file.touch(mode=0o600)
        self.before_write()

    def before_write(self) -> bool:
        """Refill the file, or release it if the write is a deletion. True if a deletion uses the reserved space."""
        try:
            held = self._file.stat().st_size
        except OSError:  # nobody has made it
            return False
        work = current_freeing()
        if work is None:
            if held < RESERVE_BYTES and self._free() >= PIECE:
                self._refill()
            return False
        if not work.is_short and self._free() < RESERVE_BYTES:
            work.is_short = True
            opened = os.open(self._file, os.O_RDWR | os.O_CLOEXEC)
            fcntl.flock(opened, fcntl.LOCK_SH)
            work.callback(self._refill)
            work.callback(os.close, opened)
            work.callback(lambda: self.tidy())
            os.truncate(self._file, 0)
        return work.is_short

    def _refill(self) -> None:
        """Let the file grow to its whole size, or as far as there is space."""
        with suppress(OSError), self._file.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for begin in range(file.seek(0, os.SEEK_END), RESERVE_BYTES, PIECE):
                size = min(PIECE, RESERVE_BYTES - begin)
                if sys.platform == "linux":
                    os.posix_fallocate(file.fileno(), begin, size)
                else:
                    file.write(os.urandom(size))  # no zeros: some file systems compress what is written
                    file.flush()

    def _free(self) -> int:
        return shutil.disk_usage(self._file.parent).free
