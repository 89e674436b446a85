"""Saved variables of executors: bytes in a file of the executor's folder, which is kept whole or not at all."""

import hashlib
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from loci.adapters.local.executors.executor_folder import ExecutorFolder
from loci.adapters.sandbox.executor_state import VariablesSnapshot
from loci.code.python_run import LostVariable
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.full_disk import disk_error
from loci.core.identity import Owner
from loci.sandbox.supervisor.variables import UnreadableError

OF_AN_OWNER = 8 << 30
"""Bytes of saved variables of all executors of an owner."""
PREFIX = "variables-"
READ = 1 << 20


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

    def take(self, content: bytes) -> None:
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
            self._failure = self._explained(error)

    def finish(self, kept: Sequence[str], lost: Sequence[LostVariable]) -> VariablesSnapshot:
        """The snapshot, once all bytes are in the file. Raises the `LociError` of what could not be written."""
        try:
            self._file.close()
        except OSError as error:
            self._failure = self._failure or self._explained(error)
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

    def _explained(self, error: OSError) -> LociError:
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
