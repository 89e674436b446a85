"""Limits of an executor's process: how much memory, how many threads and which files it may hold while code runs."""

import signal
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext

from loci.sandbox.supervisor.exchange import Bounds, Output, WhyEnded
from loci.sandbox.supervisor.executor_files import disk_use
from loci.sandbox.supervisor.process_handle import ProcessHandle
from loci.sandbox.supervisor.process_use import HeldFiles, bytes_written, held_files, is_on_disk, memory_use

FILES_SECONDS = 0.05
"""Its files are looked at so often."""
MOST_STOPPED = 0.5
"""Seconds for which it is stopped once more after its files were looked at."""


class HeldLimits:
    """Measures one process from outside, and tells which limit it has broken."""

    def __init__(self, handle: ProcessHandle, folders: tuple[str, ...], bounds: Bounds) -> None:
        self._handle = handle
        self._folders = folders
        self._is_on_disk = all(map(is_on_disk, folders))
        self._bounds = bounds
        self._held_files = HeldFiles()
        self._next_look = 0.0
        self._full_at: int | None = None
        """Bytes written in all, before which its files cannot take more than they may. None if it is not known."""

    def begin(self) -> None:
        """Let it go on for a moment before its files are looked at: most runs are shorter."""
        self._next_look = time.monotonic() + FILES_SECONDS

    def broken(self, output: Output) -> WhyEnded | None:
        """The limit that the process has broken. None if it keeps all of them."""
        used = memory_use(self._handle.id)
        if used.has_no_main_thread:
            return "ended"
        memory = used.bytes + self._held_files.buffers
        output.most_memory = max(output.most_memory, memory)
        if memory > self._bounds.memory_bytes + self._bounds.base_bytes:
            return "memory"
        if used.threads > self._bounds.threads:
            return "threads"
        return self._broken_by_files_now()

    def broken_by_files(self, *, with_mapped: bool) -> WhyEnded | None:
        """Measure its files only. `with_mapped` also looks for files that are only mapped, which takes milliseconds."""
        written = bytes_written(self._handle.id, on_disk=self._is_on_disk)
        found = disk_use(self._folders, self._bounds.files)
        self._held_files = held_files(self._handle.id, self._folders, with_mapped=with_mapped)
        room = self._bounds.disk_bytes - found.bytes - self._held_files.unlinked
        self._full_at = None if written is None else written + room
        return "disk" if room < 0 or found.files > self._bounds.files else None

    def _broken_by_files_now(self) -> WhyEnded | None:
        """A folder that takes long to look through is looked at less often, unless enough was written to fill it."""
        may_be_full = self._may_be_full()
        if not may_be_full and time.monotonic() <= self._next_look:
            return None
        with self._stopped() if may_be_full else nullcontext():
            began = time.monotonic()
            why = self.broken_by_files(with_mapped=True)
            took = time.monotonic() - began
            if may_be_full and why is None:  # so that to look never takes most of our own time
                time.sleep(min(2 * took, MOST_STOPPED))
        self._next_look = time.monotonic() + max(FILES_SECONDS, (2 if self._full_at is None else 10) * took)
        return why

    def _may_be_full(self) -> bool:
        if self._full_at is None:
            return False
        return (bytes_written(self._handle.id, on_disk=self._is_on_disk) or 0) > self._full_at

    @contextmanager
    def _stopped(self) -> Generator[None]:
        """Stop the process meanwhile, so that it writes nothing."""
        self._handle.signal(signal.SIGSTOP)
        yield
        self._handle.signal(signal.SIGCONT)
