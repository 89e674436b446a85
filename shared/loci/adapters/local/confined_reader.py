"""`FileReader` on this machine: each file is read in a process of its own, behind a wall."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loci.adapters.local.executors.executor_folder import ExecutorFolder
from loci.adapters.local.executors.executor_starter import ExecutorStarter
from loci.adapters.sandbox.file_answers import checked, stopped
from loci.core.identity import Owner
from loci.core.stores import BlobStore
from loci.files.reading import Reading
from loci.sandbox.supervisor.exchange import MB, Bounds, ExecutorEnded
from loci.sandbox.supervisor.fork_server_client import READERS
from loci.sandbox.wall.layers import Layer

ANSWER = "reading.json"
LARGEST_ANSWER = 512 * MB
BOUNDS = Bounds(seconds=120.0, memory_bytes=1536 * MB, disk_bytes=1024 * MB)


class ConfinedReader:
    """Starts a process for each file. What it says is checked, and never believed."""

    def __init__(self, folder: Path, runner: Path, blobs: BlobStore, layers: Callable[[], frozenset[Layer]]) -> None:
        self._blobs = blobs
        self._starter = ExecutorStarter(folder, runner, BOUNDS, layers=layers, drawing=False, packages=READERS)

    def read(self, owner: Owner, blob: str, name: str) -> Reading:
        """Read the file that lies in the blob store under this key."""
        self._starter.check()
        folder = self._starter.new_folder()
        folder.take()
        try:
            return self._read(folder, self._blobs.read(owner, blob), name)
        finally:
            folder.remove()

    def _read(self, folder: ExecutorFolder, content: bytes, name: str) -> Reading:
        path = folder.work_folders.memory / "file"
        path.write_bytes(content)
        path.chmod(0o444)
        answer = folder.work_folders.work / ANSWER
        process = self._starter.spawn(folder)
        try:
            code = f"from loci.files.extract.program import run; run({str(path)!r}, {name!r}, {str(answer)!r})"
            process.run(code, lambda _id, _name: {"missing": "no other file"})
            return checked(_content(answer), name)
        except ExecutorEnded as ended:
            raise stopped(name, ended.why) from None
        finally:
            process.end()

    def close(self) -> None:
        """End all processes."""
        self._starter.close()


def _content(path: Path) -> bytes:
    """The answer's bytes: of a real file only, since hostile code may have put anything there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    with open(descriptor, "rb") as opened:  # noqa: PTH123
        held: Any = os.fstat(opened.fileno())
        return opened.read(LARGEST_ANSWER) if stat.S_ISREG(held.st_mode) and held.st_size <= LARGEST_ANSWER else b""
