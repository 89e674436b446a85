"""The copies of owners' indexes on this machine, in a folder of this process with bounded room."""

import atexit
import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from uuid import uuid4

from loci.adapters.aws.index_objects import IndexObjects
from loci.adapters.s3_index.owner_copy import OwnerCopy
from loci.core.identity import Owner

LEAST_FREE = 64 * 1024**2
"""Bytes. With less, only the copy in use stays."""
MOST_BYTES = 256 * 1024**2
"""Bytes of the 512 MB that a Lambda function has by default: one more copy, of 20,000 passages, fits beside them."""


class Copies:
    """The copies that were used last. Each is made at its owner's first call, and the least used go first."""

    def __init__(
        self, objects: IndexObjects, most_passages: int, *, parent: Path | None = None, most_bytes: int = MOST_BYTES
    ) -> None:
        self.most_passages = most_passages
        self._objects = objects
        self._parent = parent
        self._most_bytes = most_bytes
        self._folder: Path | None = None
        self._copies: OrderedDict[str, OwnerCopy] = OrderedDict()
        self._lock = threading.Lock()

    def for_owner(self, owner: Owner) -> OwnerCopy:
        """The owner's copy. It stays usable for a search that holds it, even after it has to go."""
        with self._lock:
            self._folder = self._folder or _own_folder(self._parent)
            copy = self._copies.get(owner.key)
            if copy is None:
                copy = self._copies[owner.key] = OwnerCopy(owner, self._objects, self._folder, self.most_passages)
            self._copies.move_to_end(owner.key)
        return copy

    def make_room(self) -> None:
        """Forget the least used copies until the others fit. One alone may take more than the bound."""
        with self._lock:
            copies = list(self._copies.items())
        if len(copies) < 2:
            return
        sizes = {key: copy.bytes() for key, copy in copies}
        held = sum(sizes.values())
        is_full = self._folder is not None and shutil.disk_usage(self._folder).free < LEAST_FREE
        with self._lock:
            for key, _ in copies[:-1]:
                if held <= self._most_bytes and not is_full:
                    return
                if self._copies.pop(key, None) is not None:
                    held -= sizes[key]


def _own_folder(parent: Path | None) -> Path:
    """A folder of this process. Folders that killed processes left are removed: on Lambda they would fill the disk."""
    import fcntl  # not on Windows, where nobody runs a deployment

    parent = parent or Path(tempfile.gettempdir()) / f"loci-index-{os.getuid()}"
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    gate = os.open(parent / "gate", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(gate, fcntl.LOCK_EX)
        for left in parent.glob("*/alive"):
            held = os.open(left, os.O_RDWR)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # its process is alive
                continue
            else:
                shutil.rmtree(left.parent, ignore_errors=True)
            finally:
                os.close(held)
        folder = parent / uuid4().hex
        folder.mkdir(mode=0o700)
        # Held open, and so locked, until this process ends in whatever way.
        fcntl.flock(os.open(folder / "alive", os.O_CREAT | os.O_RDWR, 0o600), fcntl.LOCK_EX)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    finally:
        os.close(gate)
