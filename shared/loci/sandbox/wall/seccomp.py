"""Seccomp: an allow-list of system calls, as a classic BPF program.

Calls that are not named are refused; docs/code.md says why.
"""

import errno
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from loci.sandbox.wall import kernel

ALLOWED = """
read write readv writev pread64 pwrite64 preadv pwritev close lseek stat fstat lstat
newfstatat statx statfs fstatfs access faccessat faccessat2 getdents getdents64 getcwd chdir fchdir mkdir mkdirat rmdir
unlink unlinkat rename renameat renameat2 readlink readlinkat ftruncate truncate fsync fdatasync
copy_file_range sendfile umask dup dup2 dup3
mprotect munmap mremap brk msync mbind set_mempolicy get_mempolicy
getpid gettid getppid getuid geteuid getgid getegid getgroups getpgrp getresuid getresgid
sched_yield sched_get_priority_max sched_get_priority_min getrusage times getrlimit sysinfo uname getcpu
exit exit_group wait4 waitid futex futex_waitv set_robust_list set_tid_address rseq membarrier
arch_prctl restart_syscall rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend
sigaltstack pause nanosleep gettimeofday time alarm setitimer getitimer
timerfd_create timerfd_settime timerfd_gettime poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl
epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 pipe pipe2 signalfd4 getrandom
sendto recvfrom shutdown getsockname getsockopt getpeername
""".split()  # noqa: SIM905 (as many quoted names would be a page)
UNSUPPORTED = (
    # Programs that copy files go on if the file system has no such attributes.
    *(f"{link}{call}xattr" for link in ("", "l", "f") for call in ("get", "list", "set", "remove")),
    # It takes gigabytes of a disk before anybody looks. Libraries write zeros instead, which takes its time.
    "fallocate",
)
# Libraries take another way if the kernel says that it does not have these.
ABSENT = ("clone3", "memfd_create", "io_uring_setup", "statmount", "openat2", "mseal", "userfaultfd")
# The first eight can change files that Landlock does not let the process write. They only seem to succeed: a program
# that copies a file also copies its mode and times, and would fail otherwise. The last one is only advice, and could
# tell others something: it puts pages of shared files out of memory.
IGNORED = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "utimensat", "futimesat", "fadvise64")
X32 = 0x40000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
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


@dataclass(frozen=True, slots=True)
class SystemCallRules:
    """System calls that are allowed besides the base list."""

    may_exec: bool = False
    extra: tuple[str, ...] = ()


def program(rules: SystemCallRules) -> bytes:
    """The filter for this process. It names the process's id, the only one that may be signalled or asked about."""
    numbers = kernel.numbers()
    if kernel.MACHINE not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"seccomp: no rules for {kernel.MACHINE}")
    # Another calling convention (int 0x80, x32) has other numbers, and would get around the list.
    steps = [step(LOAD, ARCHITECTURE), step(EQUAL, ARCHITECTURES[kernel.MACHINE], 1, 0), step(RETURN, KILL)]
    steps.append(step(LOAD, NUMBER))
    if kernel.MACHINE == "x86_64":
        steps += [step(AT_LEAST, X32, 0, 1), step(RETURN, KILL)]
    for name, body in judged().items():
        if name in numbers:
            steps += [step(EQUAL, numbers[name], 0, len(body)), *body]
    for name, verdict in _verdicts(rules).items():
        if name in numbers:
            steps += [step(EQUAL, numbers[name], 0, 1), step(RETURN, verdict)]
    steps.append(step(RETURN, REFUSE))
    return b"".join(steps)


def _verdicts(rules: SystemCallRules) -> dict[str, int]:
    """Calls that are judged by their name alone. All others are refused."""
    verdicts = dict.fromkeys(IGNORED, PRETEND) | dict.fromkeys(ABSENT, UNKNOWN) | dict.fromkeys(UNSUPPORTED, NO_SUPPORT)
    allowed = (*ALLOWED, *rules.extra, *(("execve", "execveat") if rules.may_exec else ()))
    return verdicts | dict.fromkeys(allowed, ALLOW)


def judge(rules: SystemCallRules) -> None:
    """Allow only these system calls from now on."""
    kernel.set_filter(program(rules))


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
    """An instruction of the program."""
    return struct.pack("HBBI", code, if_true, if_false, operand & 0xFFFFFFFF)
