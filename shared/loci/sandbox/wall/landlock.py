"""Landlock: the kernel's access rules for files, signals and TCP. It needs no privilege."""

import contextlib
import errno
import os
import struct

from loci.sandbox.wall import kernel
from loci.sandbox.wall.layers import DEVICES, View

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_DIR, MAKE_REG, TRUNCATE, IOCTL_DEV = 1 << 7, 1 << 8, 1 << 14, 1 << 15
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

READ = READ_FILE | READ_DIR
# The code cannot make links, pipes, sockets or devices, or move a file to another folder.
WRITE = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | TRUNCATE
# The first version has 13 file rights; the second, third and fifth each add one.
FIRST, BY_VERSION = (1 << 13) - 1, ((2, 1 << 13), (3, TRUNCATE), (5, IOCTL_DEV))
TCP, SCOPES = 3, 3
FILE_RULE = 1
OWN_FILES = ("maps", "smaps", "status", "stat", "statm", "cmdline", "comm", "cgroup", "limits", "io", "oom_score")
OWN_FOLDERS = ("fd", "task")
"""Below /proc/ID, besides. Among the others are the network of the host, its mounts, and the process's memory."""


def version() -> int:
    """The version that the kernel offers; 0 if none."""
    number = kernel.numbers().get("landlock_create_ruleset")
    if number is None:
        return 0
    try:
        return kernel.call("landlock", number, None, 0, 1)
    except OSError:
        return 0


def restrict(view: View, *, own_proc: bool) -> None:
    """Let the process reach only the view and itself below /proc, and no process outside.

    With `own_proc`, /proc shows no other process and no other network, and all of it may be read.
    """
    known = version()
    if not known:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    numbers = kernel.numbers()
    handled = FIRST | sum(right for since, right in BY_VERSION if known >= since)
    fields = [handled, *([TCP] if known >= 4 else ()), *([SCOPES] if known >= 6 else ())]
    attributes = struct.pack(f"{len(fields)}Q", *fields)
    rules = kernel.call("landlock", numbers["landlock_create_ruleset"], attributes, len(attributes), 0)

    def allow(path: str, rights: int) -> None:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
            if not os.path.isdir(path):
                rights &= OF_FILES
            rule = struct.pack("<Qi", rights & handled, opened)
            kernel.call("landlock", numbers["landlock_add_rule"], rules, FILE_RULE, rule, 0)
            os.close(opened)

    own = f"/proc/{os.getpid()}"
    for path in (*view.readable, *(("/proc",) if own_proc else (f"{own}/{name}" for name in OWN_FILES))):
        allow(path, READ)
    for name in OWN_FOLDERS:
        allow(f"{own}/{name}", READ_DIR)
    for path in view.executable:
        allow(path, READ | EXECUTE)
    for path in view.writable:
        allow(path, WRITE)
    for path in DEVICES:
        allow(path, READ_FILE | WRITE_FILE)
    kernel.call("landlock", numbers["landlock_restrict_self"], rules, 0)
    os.close(rules)
