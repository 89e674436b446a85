"""System calls that are judged by their arguments, as steps of a classic BPF program."""

import errno
import os
import struct
from collections.abc import Iterable

# Not those that let the kernel signal other processes (F_SETOWN, F_SETSIG, F_SETLEASE, F_NOTIFY), that make a pipe
# larger (F_SETPIPE_SZ), or that lock for an open file (F_OFD_SETLK).
FCNTLS = (0, 1, 2, 3, 4, 5, 1030, 1032, 1034)
# F_SETLK and F_SETLKW keep other processes out. There is none that shares a file which the code may write, and on files
# that all may read, others would see the lock. SQLite fails without them.
LOCKS = (6, 7)
IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS TIOCGWINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX
PRCTLS = (3, 15, 16, 0x53564D41)  # PR_GET_DUMPABLE PR_SET_NAME PR_GET_NAME PR_SET_VMA
# Not MADV_MERGEABLE, MADV_COLD, MADV_PAGEOUT and MADV_COLLAPSE: they change what others feel of shared pages.
ADVICE = (0, 1, 2, 3, 4, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 22, 23, 102, 103)
CLOCKS = tuple(range(12))
"""The other numbers are clocks of processes, and tell if an id is in use."""
AF_UNIX = 1
STREAM, SEQPACKET, NONBLOCK, CLOEXEC = 1, 5, 0x800, 0x80000
# A datagram could be sent to any other socket of the host.
SOCKETS = tuple(kind | flags for kind in (STREAM, SEQPACKET) for flags in (0, NONBLOCK, CLOEXEC, NONBLOCK | CLOEXEC))
TMPFILE = 0x400000
SHARED, ANONYMOUS, GROWSDOWN, HUGETLB = 0x1, 0x20, 0x100, 0x40000
CLONE_NAMESPACES = 0x7E020000 | 0x80
# CLONE_VM, FS, FILES, SIGHAND, THREAD: what threads share. With descriptors of its own a thread would hold files that
# nobody sees.
THREAD = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000
SHARED_DESCRIPTORS = (0, 4)
"""The flags that `close_range` takes: none, or CLOSE_RANGE_CLOEXEC. UNSHARE gives a thread descriptors of its own."""

LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x50000
PRETEND = FAIL
"""Do nothing, and report success."""
REFUSE, UNKNOWN, NO_SUPPORT = FAIL | errno.EPERM, FAIL | errno.ENOSYS, FAIL | errno.ENOTSUP
NUMBER, ARCHITECTURE = 0, 4
"""Offsets in the record that the program judges."""


def judged() -> dict[str, list[bytes]]:
    """The steps for each call, those first that are made most often. They name this process's id."""
    itself = (0, os.getpid())
    return {
        # Memory that several mappings share stays when one is dropped, and no limit counts it; nor do limits count a
        # stack that grows, or huge pages.
        "mmap": [
            step(LOAD, argument(3)),
            step(ANY_BIT, GROWSDOWN | HUGETLB, 0, 1),
            step(RETURN, REFUSE),
            step(ANY_BIT, ANONYMOUS, 1, 0),
            step(RETURN, ALLOW),
            step(ANY_BIT, SHARED, 0, 1),
            step(RETURN, REFUSE),
            step(RETURN, ALLOW),
        ],
        # Whoever opens a file without a name takes another way if the file system does not have that.
        "openat": _without(2, TMPFILE),
        "open": _without(1, TMPFILE),
        "clock_gettime": _only(0, CLOCKS, FAIL | errno.EINVAL),
        "madvise": _only(2, ADVICE),
        "clock_getres": _only(0, CLOCKS, FAIL | errno.EINVAL),
        "clock_nanosleep": _only(0, CLOCKS, FAIL | errno.EINVAL),
        "ioctl": _only(1, IOCTLS),
        "fcntl": [
            step(LOAD, argument(1)),
            *(one for lock in LOCKS for one in (step(EQUAL, lock, 0, 1), step(RETURN, PRETEND))),
            *_only(1, FCNTLS),
        ],
        "prctl": _only(0, PRCTLS),
        "socketpair": [
            *(step(LOAD, argument(0)), step(EQUAL, AF_UNIX, 1, 0), step(RETURN, REFUSE)),
            *_only(1, SOCKETS),
        ],
        "kill": _only(0, itself[1:]),
        "tgkill": _only(0, itself[1:]),
        "sched_setaffinity": _only(0, itself),
        # The C library asks for its threads, and goes on if the kernel does not have the call.
        "sched_getaffinity": _only(0, itself, UNKNOWN),
        "sched_getparam": _only(0, itself, UNKNOWN),
        "sched_getscheduler": _only(0, itself, UNKNOWN),
        "getpriority": _only(1, itself),
        "getpgid": _only(0, itself),
        "getsid": _only(0, itself),
        # Reading a limit of its own, not setting one: the new one is null.
        "prlimit64": [
            *(step(LOAD, argument(0)), step(EQUAL, 0, 2, 0), step(EQUAL, itself[1], 1, 0), step(RETURN, REFUSE)),
            *_only(2, (0,)),
        ],
        # Threads, not processes.
        "clone": [
            step(LOAD, argument(0)),
            step(ANY_BIT, CLONE_NAMESPACES, 0, 1),
            step(RETURN, REFUSE),
            step(AND, THREAD),
            step(EQUAL, THREAD, 1, 0),
            step(RETURN, REFUSE),
            step(RETURN, ALLOW),
        ],
        "close_range": _only(2, SHARED_DESCRIPTORS, UNKNOWN),
    }


def _only(number: int, values: Iterable[int], otherwise: int = REFUSE) -> list[bytes]:
    """Allow the call if this argument is one of these, with its upper half zero."""
    body = [step(LOAD, argument(number) + 4), step(EQUAL, 0, 1, 0), step(RETURN, otherwise)]
    body.append(step(LOAD, argument(number)))
    for value in values:
        body += [step(EQUAL, value, 0, 1), step(RETURN, ALLOW)]
    return [*body, step(RETURN, otherwise)]


def _without(number: int, bits: int) -> list[bytes]:
    """Allow the call if this argument has none of these bits."""
    body = [step(LOAD, argument(number)), step(ANY_BIT, bits, 0, 1), step(RETURN, NO_SUPPORT)]
    return [*body, step(RETURN, ALLOW)]


def argument(index: int) -> int:
    """The offset of an argument's lower half: both machines are little-endian."""
    return 16 + 8 * index


def step(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction of the program."""
    return struct.pack("HBBI", code, if_true, if_false, operand & 0xFFFFFFFF)
