"""Files that are written whole or not at all, and files that are opened without following a link."""

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from loci.core.errors import Refused, Unavailable
from loci.core.full_disk import disk_error
from loci.core.ids import random_id

PRIVATE = 0o600
OLD = 3600.0
"""Seconds. On a disk without locks a younger temp file may belong to a write that goes on."""
NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | NO_LINK
# The system need not let us read the folders on the way, if it can open them without reading.
CAN_PASS = hasattr(os, "O_PATH")
ON_THE_WAY = (os.O_PATH if CAN_PASS else os.O_RDONLY) | os.O_DIRECTORY | NO_LINK
# It does not wait for the writer of a pipe.
FILE = os.O_RDONLY | os.O_NONBLOCK | NO_LINK
WHAT_A_LINK_GIVES = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
"""The errors of systems that are asked to open a link with `O_NOFOLLOW`."""


def replace_file(file: Path, content: bytes, *, mode: int | None = PRIVATE, synced: bool = True) -> None:
    """Write the file in one step. A reader, or a start after a crash, sees the old file or the new one.

    It gets this `mode`; with None that of the user's new files. If `synced`, its content survives a power cut.
    """
    scratch = file.with_name(f".{random_id()}")
    try:
        opener = partial(os.open, mode=0o666 if mode is None else PRIVATE)
        with open(scratch, "xb", opener=opener) as written:
            hold(written.fileno())
            written.write(content)
            written.flush()
            if synced:
                os.fsync(written.fileno())
            if mode not in (None, PRIVATE):
                scratch.chmod(mode)
            scratch.replace(file)
    except BaseException:
        with suppress(OSError):
            scratch.unlink()
        raise


def hold(descriptor: int) -> None:
    """Mark a temp file as one that is being written, until it is closed or this process ends."""
    with suppress(OSError):  # some disks know no locks
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_if_left(file: Path) -> None:
    """Remove a temp file if nobody writes it any more: its process was killed.

    A young empty one stays: its process may be about to `hold` it.
    """
    with suppress(OSError):
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            held = os.fstat(descriptor)
            age = time.time() - held.st_mtime
            if stat.S_ISREG(held.st_mode) and (held.st_size or age > OLD) and _is_left(descriptor, age):
                file.unlink()
        finally:
            os.close(descriptor)


def _is_left(descriptor: int, age: float) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return age > OLD
    return True


def open_lock(file: Path) -> int:
    """Open a file to lock it. It is made if it is missing, and its folder, too."""
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    except OSError as error:
        raise disk_error(error, file.parent) or Unavailable(
            f"Cannot use {file.parent} ({error.strerror})", "Check its permissions"
        ) from error


def sync(path: Path) -> None:
    """Make sure that the file, or the entries of the folder, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_file(root: str, below: str) -> int:
    """A descriptor of the file at that path below the root, to read it. Refused if a part of the path is a link.

    The root is absolute, with all links followed.
    """
    return _opened(root, below, FILE)


def open_folder(root: str, below: str = "") -> int:
    """A descriptor of the root or of a folder below it, to list it or to open what is in it. As `open_file`."""
    return _opened(root, below, FOLDER)


def _opened(root: str, below: str, flags: int) -> int:
    path = f"{root.rstrip('/')}/{below}".rstrip("/") or "/"
    try:
        if os.open in os.supports_dir_fd:
            return _by_parts(root, below, flags)
        return _as_it_was(path, os.open(path, flags))
    except OSError as error:
        if error.errno in WHAT_A_LINK_GIVES and os.path.realpath(path) != path:
            raise _leads_elsewhere(path, root) from None
        raise


def _by_parts(root: str, below: str, flags: int) -> int:
    start, names = ("/", _names(f"{root}/{below}")) if CAN_PASS else (root, _names(below))
    steps = [*([ON_THE_WAY] * len(names)), flags]
    opened = os.open(start, steps[0])
    for name, step in zip(names, steps[1:], strict=True):
        above = opened
        try:
            opened = os.open(name, step, dir_fd=above)
        finally:
            os.close(above)
    return opened


def _as_it_was(path: str, opened: int) -> int:
    """The descriptor, on a system that cannot open by parts; refused if the path leads through a link by now."""
    try:
        if os.path.realpath(path) == path and os.path.samestat(os.lstat(path), os.fstat(opened)):
            return opened
    except OSError:
        os.close(opened)
        raise
    os.close(opened)
    raise _leads_elsewhere(path, path)


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


def _leads_elsewhere(path: str, root: str) -> Refused:
    what = f"{path} is a link or lies behind one, and perhaps points outside {root}"
    return Refused(what, "Put the file itself there", code="OUTSIDE_ROOT")
