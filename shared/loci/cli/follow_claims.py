"""Which process keeps which folders of a library current: locks in its data folder, which end with their holders."""

import fcntl
import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from loci.core.whole_files import open_lock

SERVER, COMMAND = "server", "command-"


class FollowClaims:
    """One server follows all folders, but for those that a command takes for itself as long as it runs."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "following"

    @contextmanager
    def as_server(self) -> Generator[bool]:
        """True if this is the server that follows, until the end of the block. False if another one does."""
        descriptor = open_lock(self._folder / SERVER)
        try:
            is_ours = _is_locked(descriptor, fcntl.LOCK_EX)
            yield is_ours
        finally:
            # Closing is not enough: a program that another thread is just starting has it open, too, for a moment.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    @contextmanager
    def as_command(self, folders: Sequence[str]) -> Generator[None]:
        """Keep servers from following these folders until the end of the block. Other commands may take them, too."""
        claim = self._folder / f"{COMMAND}{os.getpid()}"
        arriving = claim.with_name(f".{claim.name}")
        descriptor = open_lock(arriving)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            arriving.write_text(json.dumps([*folders]), "ascii")
            arriving.replace(claim)  # only now, as a claim that nobody holds is removed
            yield
        finally:
            claim.unlink(missing_ok=True)
            os.close(descriptor)

    def of_commands(self) -> list[str]:
        """The folders that commands have taken."""
        found: set[str] = set()
        for claim in self._folder.glob(f"{COMMAND}*"):
            with suppress(FileNotFoundError, ValueError):  # it has just ended
                found.update(_folders(claim))
        return sorted(found)


def _folders(claim: Path) -> list[str]:
    """The folders of a claim; none, and it is removed, if its command has ended."""
    descriptor = os.open(claim, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _is_locked(descriptor, fcntl.LOCK_SH):
            claim.unlink()
            return []
        return json.loads(claim.read_text("ascii"))
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int, kind: int) -> bool:
    """True if this process has the lock now."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
