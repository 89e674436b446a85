"""`FileReader` on this machine: reads each file in a process of its own, behind the wall."""

import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from loci.adapters.local.executors.executor_folder import ExecutorFolder
from loci.adapters.local.executors.executor_starter import PREFIX, ExecutorStarter
from loci.core.errors import Unavailable
from loci.core.full_disk import disk_error
from loci.core.identity import Owner
from loci.core.stores import BlobStore
from loci.files.ports import PagesRead, ignore_pages
from loci.files.reading import stopped
from loci.sandbox.supervisor.executor_files import plain_file
from loci.sandbox.supervisor.executor_process import ExecutorEnded
from loci.sandbox.supervisor.fork_server_client import READERS
from loci.sandbox.supervisor.limits import MB, Bounds
from loci.sandbox.wall.layers import Layer

PROGRAM = "from loci.files.extract.program import run;"
ANSWER = "reading.json"
LARGEST_ANSWER = 512 * MB
PAGES = "pages"
"""The file in which the program reports how many pages it has read."""
PAGES_READ, LONGEST_PAGES = re.compile(rb"([0-9]{1,6}) ([0-9]{1,6})"), 16
BOUNDS = Bounds(seconds=120.0, memory_bytes=1536 * MB, disk_bytes=1024 * MB, memory_requests=0)
AT_ONCE = 2
ATTEMPTS = 2
"""The most processes for a file. If the first one just ends, the file need not be the cause."""
WAIT_SECONDS = 600.0
OUT_OF_MEMORY = (b"memory allocation of", b"MemoryError", b"out of memory", b"bad_alloc")
"""The last output of parsers in Rust, Python and C that run out of memory."""


class ConfinedReader:
    """Starts a process for each file, and checks all of its output."""

    def __init__(
        self,
        folder: Path,
        runner: Path,
        blobs: BlobStore,
        layers: Callable[[], frozenset[Layer]],
        bounds: Bounds = BOUNDS,
        limits: Mapping[str, int] | None = None,
        *,
        at_once: int = AT_ONCE,
    ) -> None:
        self._folder = folder
        self._blobs = blobs
        self._limits = dict(limits or {})
        self._starter = ExecutorStarter(folder, runner, bounds, layers=layers, drawing=False, packages=READERS)
        self._free = threading.BoundedSemaphore(at_once)
        self._swept = threading.Event()

    def read(self, owner: Owner, blob: str, name: str, pages_read: PagesRead = ignore_pages) -> bytes:
        """Read the file that is stored as this blob."""
        self._starter.check()
        if not self._free.acquire(timeout=WAIT_SECONDS):  # each process may take a lot of memory
            raise Unavailable("Other files are still being read", "Try again when they are done", code="READERS_BUSY")
        try:
            self._sweep()
            for left in reversed(range(ATTEMPTS)):
                folder = self._starter.new_folder()
                try:
                    folder.acquire()
                    return self._read(folder, self._blobs.read(owner, blob), name, pages_read)
                except ExecutorEnded as ended:
                    if not left or ended.why != "ended":
                        raise stopped(ended.why) from None
                except OSError as error:
                    raise disk_error(error, self._folder) or error from None
                finally:
                    folder.remove()
            raise AssertionError
        finally:
            self._free.release()

    def close(self) -> None:
        """End all processes."""
        self._starter.close()

    def _read(self, folder: ExecutorFolder, content: bytes, name: str, pages_read: PagesRead) -> bytes:
        path = folder.work_folders.memory / "file"
        path.write_bytes(content)
        del content
        path.chmod(0o444)
        answer = folder.work_folders.work / ANSWER
        pages = folder.work_folders.work / PAGES
        asked = f"run({str(path)!r}, {name!r}, {str(answer)!r}, {self._limits!r}, {str(pages)!r})"

        def report_pages() -> bool:
            if (told := PAGES_READ.fullmatch(plain_file(pages, LONGEST_PAGES))) is not None:
                pages_read(int(told[1]), int(told[2]))
            return False

        try:
            process = self._starter.spawn(folder)
        except ExecutorEnded as ended:
            said = bytes(ended.output.stderr).decode("utf-8", "replace").strip()
            what = f"The program that reads files did not start{f': {said}' if said else ''}"
            raise Unavailable(what, "Try again; if it keeps failing, run: loci doctor", code="READER_FAILED") from None
        try:
            reply = process.run(f"{PROGRAM} {asked}", lambda _id, _name: {"missing": ""}, report_pages)
            if reply.interrupted:
                raise stopped("time")
            said = plain_file(answer, LARGEST_ANSWER)
            if not said and _is_out_of_memory(reply.said, reply.output.stderr):
                raise stopped("memory")
            return said
        except ExecutorEnded as ended:
            if any(one in ended.output.stderr for one in OUT_OF_MEMORY):
                raise stopped("memory") from None
            raise
        finally:
            process.end()

    def _sweep(self) -> None:
        """Remove the folders of readers whose server was killed."""
        if self._swept.is_set():
            return
        self._swept.set()
        for path in self._folder.glob(f"{PREFIX}*"):
            ExecutorFolder(path).remove_left()


def _is_out_of_memory(said: Mapping[str, object], errors: bytearray) -> bool:
    failure = said.get("failure")
    return (isinstance(failure, dict) and "memory" in failure) or any(one in errors for one in OUT_OF_MEMORY)
