"""Limits of an executor, and what its process and its files take, as the system counts it from outside."""

import errno
import os
import re
import signal
import stat
import time
from collections.abc import Collection, Generator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Literal

from loci.sandbox.supervisor.executor_files import DEEPEST

MB = 1 << 20
FILES_SECONDS = 0.05
"""Seconds between two looks at its files."""
MOST_STOPPED = 0.5
"""Seconds for which it is stopped once more after its files were looked at."""
FIELD = re.compile(rb"^(VmRSS|VmPTE|VmSwap|Threads):\s*(\d+)", re.MULTILINE)
WRITTEN = re.compile(rb"^(wchar|write_bytes): (\d+)", re.MULTILINE)
SOCKET_BUFFER = 208 << 10
"""Bytes that one end of a pair of sockets may hold: Linux's own limit, which the code cannot raise."""
PIPE_BUFFER = 64 << 10
OWN_PIPES = 5
LARGEST_MAPS = 4 << 20
"""Bytes of the list of mappings. Who has more of them hides something in it."""
UNKNOWN = 1 << 40
WhyEnded = Literal["time", "memory", "disk", "threads", "ended", "protocol", "start", "state size", "given up"]


@dataclass(frozen=True)
class Bounds:
    """Limits of an executor."""

    seconds: float = 60.0
    grace_seconds: float = 1.0
    """Seconds between the interrupt, which the code's variables survive, and the end of the process."""
    memory_bytes: int = 1024 * MB
    base_bytes: int = 300 * MB
    """Memory that Python and the packages take before the caller's code takes any."""
    disk_bytes: int = 256 * MB
    files: int = 10_000
    threads: int = 128
    output_bytes: int = MB
    """The most bytes of stdout, and of stderr. The rest is counted and dropped."""
    reply_bytes: int = 32 * MB
    message_bytes: int = MB
    """The most bytes of a message. Figures and variables come as bytes, which are not parsed."""
    all_message_bytes: int = 16 * MB
    """The most bytes of all messages in answer to a request: the answer itself, and requests for files and tools."""
    messages: int = 1000
    """The most messages in answer to a request: each costs time, however small it is."""
    pieces: int = 10_000
    """The most pieces of bytes in answer to a request."""
    memory_requests: int = 200
    """Requests for stored files, and calls of tools, in one run."""


class ProcessHandle:
    """Signals a process that is no child of this process.

    Since Linux 5.3 it holds the process itself, so that its id cannot become another's.
    """

    def __init__(self, id: int, descriptor: int | None) -> None:
        self.id = id
        self._descriptor = descriptor

    def signal(self, number: int) -> None:
        """Send the signal if the process is still there."""
        with suppress(ProcessLookupError):
            if self._descriptor is None:
                os.kill(self.id, number)
            elif self._descriptor >= 0:
                try:
                    signal.pidfd_send_signal(self._descriptor, number)
                except OSError as error:
                    if error.errno not in (errno.EPERM, errno.ENOSYS):
                        raise
                    os.kill(self.id, number)  # the machine refuses the call

    def release(self) -> None:
        """Release the handle: the process is never signalled again."""
        if self._descriptor is not None and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class HeldLimits:
    """Measures one process from outside, and tells which limit it has broken."""

    def __init__(self, handle: ProcessHandle, folders: tuple[str, ...], bounds: Bounds) -> None:
        self._handle = handle
        self._folders = folders
        self._is_on_disk = all(map(is_on_disk, folders))
        self._bounds = bounds
        self._held_files = HeldFiles()
        self._next_look = 0.0
        self.most_memory = 0
        """The most bytes of memory that it had since `begin`."""
        self._full_at: int | None = None
        """Bytes written in all, before which its files cannot take more than they may. None if it is not known."""

    def begin(self) -> None:
        """Let it go on for a moment before its files are looked at: most runs are shorter."""
        self._next_look = time.monotonic() + FILES_SECONDS
        self.most_memory = 0

    def broken(self) -> WhyEnded | None:
        """The limit that the process has broken. None if it keeps all of them."""
        used = memory_use(self._handle.id)
        if used.has_no_main_thread:
            return "ended"
        memory = used.bytes + self._held_files.buffers
        self.most_memory = max(self.most_memory, memory)
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


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Zeros if the system does not say."""

    bytes: int = 0
    """Bytes in RAM, with what it shares; in swap; and the tables of its pages."""
    threads: int = 0
    has_no_main_thread: bool = False
    """True if only other threads go on. Their files are not listed below the process's own id."""


def memory_use(id: int) -> MemoryUse:
    """The memory and the threads of a process."""
    try:
        with open(f"/proc/{id}/status", "rb", buffering=0) as opened:
            found = {name: int(number) for name, number in FIELD.findall(opened.read(8192))}
    except OSError:
        return MemoryUse()
    held = sum(found.get(name, 0) for name in (b"VmRSS", b"VmPTE", b"VmSwap"))
    threads = found.get(b"Threads", 0)
    return MemoryUse(held << 10, threads, has_no_main_thread=threads > 1 and b"VmRSS" not in found)


def is_on_disk(folder: str) -> bool:
    """True if the system counts what is written there as written to a disk."""
    return os.major(os.stat(folder).st_dev) > 0


def bytes_written(id: int, *, on_disk: bool) -> int | None:
    """Bytes of files that a process has written so far, to be held or not; None if the system hides it.

    Where no disk is, this also has what it has written to anything else, such as pipes.
    """
    try:
        with open(f"/proc/{id}/io", "rb", buffering=0) as opened:
            found = dict(WRITTEN.findall(opened.read(1024)))
    except OSError:
        return None
    return int(found.get(b"write_bytes", 0)) + (0 if on_disk else int(found.get(b"wchar", 0)))


@dataclass(frozen=True, slots=True)
class HeldFiles:
    """Open files of a process that no folder shows. Zeros if the system does not say."""

    unlinked: int = 0
    """Bytes of files that have no name any more, and go when the process lets go of them."""
    buffers: int = 0
    """Bytes that its sockets and pipes may hold."""


def held_files(id: int, folders: Collection[str], *, with_mapped: bool) -> HeldFiles:
    """Return the files that a process holds open. `folders` are those in which it may write.

    To look through all that is mapped takes milliseconds, as long as a short run: `with_mapped` does so.
    """
    unlinked: dict[tuple[int, int], int] = {}
    buffers = -OWN_PIPES * PIPE_BUFFER
    try:
        for entry in os.scandir(f"/proc/{id}/fd"):
            try:
                held = entry.stat()  # of the file, not of the link to it
            except OSError:  # it has just been closed
                continue
            if stat.S_ISREG(held.st_mode) and held.st_nlink == 0:
                unlinked[held.st_dev, held.st_ino] = held.st_blocks * 512
            elif stat.S_ISSOCK(held.st_mode):
                buffers += SOCKET_BUFFER
            elif stat.S_ISFIFO(held.st_mode):
                buffers += PIPE_BUFFER
        mapped = _only_mapped(id, folders, {inode for _, inode in unlinked}) if with_mapped else 0
    except OSError:  # it has ended, or hides itself, as in a function
        return HeldFiles()
    return HeldFiles(sum(unlinked.values()) + mapped, max(0, buffers))


def _only_mapped(id: int, folders: Collection[str], opened: Collection[int]) -> int:
    """Bytes of unlinked files that are mapped and not open: a mapping holds all of its file, however small it is."""
    with open(f"/proc/{id}/maps", "rb", buffering=0) as reading:
        text = b""
        while part := reading.read(1 << 20):
            text += part
            if len(text) > LARGEST_MAPS:
                return UNKNOWN
    if b" (deleted)\n" not in text:
        return 0
    own = tuple(os.fsencode(one) + b"/" for one in folders)
    found: dict[int, int] = {}
    for line in text.split(b"\n"):
        parts = line.split(None, 5)
        if len(parts) == 6 and parts[5].startswith(own) and parts[5].endswith(b" (deleted)"):
            inode = int(parts[4])
            if inode not in opened and inode not in found:
                found[inode] = _mapped_bytes(id, parts[0])
    return sum(found.values())


def _mapped_bytes(id: int, addresses: bytes) -> int:
    """Bytes of a mapped file. Only a privileged supervisor may ask; for others, it is as large as a file can be."""
    begin, _, end = addresses.partition(b"-")
    try:
        return os.stat(f"/proc/{id}/map_files/{int(begin, 16):x}-{int(end, 16):x}").st_blocks * 512
    except OSError:
        return UNKNOWN


@dataclass(frozen=True)
class DiskUse:
    """Bytes on the disk, and how many files and folders."""

    bytes: int
    files: int


def disk_use(folders: tuple[str, ...], most_files: int) -> DiskUse:
    """Measure the folders. Past `most_files`, or if a folder cannot be read, it counts as too many files."""
    total = files = 0
    waiting = [(one, 0) for one in folders]
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    files += 1
                    held = entry.stat(follow_symlinks=False)
                    total += held.st_blocks * 512
                    if stat.S_ISDIR(held.st_mode):
                        waiting.append((entry.path, depth + 1))
                    if files > most_files or depth > DEEPEST:
                        return DiskUse(total, most_files + 1)
        except FileNotFoundError:  # it was just removed
            continue
        except OSError:
            return DiskUse(total, most_files + 1)
    return DiskUse(total, files)
