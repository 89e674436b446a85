"""Memory and files that a process holds, as the system counts them from outside."""

import os
import re
import stat
from collections.abc import Collection
from dataclasses import dataclass

FIELD = re.compile(rb"^(VmRSS|VmPTE|VmSwap|Threads):\s*(\d+)", re.MULTILINE)
WRITTEN = re.compile(rb"^(wchar|write_bytes): (\d+)", re.MULTILINE)
SOCKET_BUFFER = 208 << 10
"""Bytes that one end of a pair of sockets may hold: Linux's own limit, which the code cannot raise."""
PIPE_BUFFER = 64 << 10
OWN_PIPES = 5
LARGEST_MAPS = 4 << 20
"""Bytes of the list of mappings. Who has more of them hides something in it."""
UNKNOWN = 1 << 40


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Zeros if the system does not say."""

    bytes: int = 0
    """In RAM, with what it shares; in swap; and the tables of its pages."""
    threads: int = 0
    has_no_main_thread: bool = False
    """True if only others go on. What they hold is not told below the process's own id."""


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
