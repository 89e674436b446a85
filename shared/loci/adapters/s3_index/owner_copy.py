"""The index of one owner on this machine, in step with the objects in the bucket."""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from loci.adapters.aws.index_objects import IndexObjects, StoredObject
from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.s3_index.bases import Base, Bases, new_name
from loci.adapters.s3_index.blocks import Blocks
from loci.adapters.s3_index.changes import Changes, IndexChange
from loci.adapters.s3_index.local_file import LocalFile
from loci.core.errors import Conflict, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.stores import ABSENT

TRIES = 10
"""The most attempts of a writer that others overtake, although it has the lock: theirs ended while they wrote."""
LEAST_FOLDED, MOST_FOLDED = 1 << 20, 8 << 20
"""Bytes: changes that are larger go into the base. Each write sends all of them, and a fold about twice as much."""
SHARE = 1 / 16
"""A share of the base: more changes than that are folded into it, within the bounds above."""
KEPT = 1 / 4
"""The share of the changes in a fold that stay, too, for readers that lag behind."""


class OwnerCopy:
    """Reads the writes of others before each use, and writes only over content that it has read."""

    def __init__(self, owner: Owner, objects: IndexObjects, folder: Path, most_passages: int) -> None:
        self._owner = owner
        self._objects = objects
        self._folder = folder
        self._most_passages = most_passages
        self._lock = threading.Lock()
        self._checked = float("-inf")
        self._version = ABSENT
        self._changes = Changes()
        self._bases = Bases(owner, objects)
        self._file: LocalFile | None = None
        self._followed: str | None = None
        """The base that the file was fetched from or written as. Others may have written another since."""

    def current(self) -> SqliteIndex:
        """The index with everything that was written before this call."""
        asked = time.monotonic()
        with self._lock:
            if self._checked < asked:  # else another thread has just asked, and its answer is as new
                self._refresh()
            return self._held().index

    def recent(self) -> SqliteIndex:
        """The index as this process saw it last. Others may have written since."""
        with self._lock:
            if self._file is None:
                self._refresh()
            return self._held().index

    def state(self) -> str:
        """A token that changes with each write."""
        self.current()
        return self._changes.last.hex()

    def write(self, changes: Sequence[IndexChange]) -> None:
        """Make the changes for all processes, or none of them."""
        with self._lock:
            for _ in range(TRIES):
                self._refresh()
                with suppress(Conflict):
                    self._write(changes)
                    break
            else:
                raise busy()
            if self._changes.size > self._most_changes():
                with suppress(Conflict, Unavailable):  # the next write tries it again
                    self._fold()

    def bytes(self) -> int:
        """The room that it takes on this machine."""
        file = self._file  # no lock: who asks does not wait for a write
        return file.bytes() if file else 0

    def passages(self) -> int:
        """The number of passages of all collections."""
        self.current()
        with self._lock:
            return self._held().passages()

    def _held(self) -> LocalFile:
        if self._file is None:
            self._file = self._empty()
        return self._file

    def _write(self, changes: Sequence[IndexChange]) -> None:
        after = self._changes.with_more(changes)
        versions: list[str] = []

        def publish(before: int, now: int) -> None:
            if now > max(self._most_passages, before):
                raise full(self._most_passages, now)
            versions.append(self._objects.write_changes(self._owner, after.content, self._version))

        if self._held().write(self._owner, changes, publish):
            self._version, self._changes = versions[0], after

    def _refresh(self) -> None:
        """Bring the file up to date with the bucket."""
        began = time.monotonic()
        missed: str | None = None
        for _ in range(TRIES):
            found = self._objects.newer_changes(self._owner, self._version)
            if found is None:
                break
            try:
                # If the base is gone and the changes are still the same, it is lost: the changes can still be found.
                self._follow(found, without_base=found.version == missed)
                break
            except NotFound:  # most likely somebody has just folded, and the changes name another base by now
                missed = found.version
        else:
            raise busy()
        self._checked = began

    def _follow(self, found: StoredObject, *, without_base: bool) -> None:
        changes = Changes() if found.version == ABSENT else Changes(found.content)
        missing = changes.since(self._changes.last) if self._file is not None else None
        file, followed = self._file, self._followed
        if file is None or missing is None:
            if changes.base is None or without_base:
                file, followed, missing = self._empty(), None, changes.all()
            else:
                file, followed, missing = self._fetched(changes.base), changes.base, changes.since_base()
        if missing:
            file.write(self._owner, missing, lambda _, __: None)
        self._file, self._followed, self._version, self._changes = file, followed, found.version, changes

    def _fetched(self, base: str) -> LocalFile:
        path = self._new_path()
        try:
            self._bases.fetch(base, path, near=self._file.whole() if self._file else None)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return LocalFile(path)

    def _empty(self) -> LocalFile:
        return LocalFile(self._new_path())

    def _new_path(self) -> Path:
        return self._folder / f"{uuid4().hex}.db"

    def _most_changes(self) -> float:
        return min(max(LEAST_FOLDED, self._held().bytes() * SHARE), MOST_FOLDED)

    def _fold(self) -> None:
        """Write a base that has all changes in it, and shares blocks with the base before."""
        before, base = self._replaced(), new_name()
        after = self._changes.folded(base, KEPT * self._most_changes())
        # Listed before the changes are written: if that succeeds, nobody else has folded since, and nobody needs those
        # of these that the new base does not. Objects that are written later may be of the next fold.
        there = self._bases.names()
        with Blocks(self._held().whole()) as blocks:
            needed = self._bases.write(base, before, blocks, there)
        self._version = self._objects.write_changes(self._owner, after.content, self._version)
        self._changes, self._followed = after, base
        self._bases.remove([one for one in there if one not in needed])

    def _replaced(self) -> Base:
        """The base that a fold replaces, with a file here that follows it.

        Two files with the same passages differ in their blocks, unless one was made from the other. If another
        environment has folded, its file is taken over, or each of the two would send again what the other has sent.
        """
        base = self._changes.base
        if base is None:
            return Base()
        try:
            if base != self._followed:
                file = self._fetched(base)
                file.write(self._owner, self._changes.since_base(), lambda _, __: None)
                self._file, self._followed = file, base
            return self._bases.read(base)
        except NotFound:  # it was lost: this fold brings back what is here
            return Base()


def busy() -> Unavailable:
    """Others keep writing."""
    return Unavailable("The index in the bucket did not answer (others keep writing)", "Try again", code="INDEX_BUSY")


def full(most: int, now: int) -> Refused:
    """The owner has too many passages for this index."""
    return Refused(
        f"The index in the bucket holds at most {most:,} passages of an owner, and this would make {now:,}",
        "Remove documents, or deploy a stage with OpenSearch ("
        '"search": "domain" in cdk.json) on the same data and run: loci reindex --stack NAME',
        code="INDEX_FULL",
    )
