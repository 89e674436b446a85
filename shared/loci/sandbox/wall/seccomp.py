"""Seccomp: an allow-list of system calls, as a classic BPF program."""

import errno
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from loci.sandbox.wall import kernel

ALLOWED = """
read write readv writev pread64 pwrite64 preadv pwritev open openat close close_range lseek stat fstat lstat
newfstatat statx statfs fstatfs access faccessat faccessat2 getdents getdents64 getcwd chdir fchdir mkdir mkdirat rmdir
unlink unlinkat rename renameat renameat2 readlink readlinkat ftruncate truncate fallocate fsync fdatasync fadvise64
copy_file_range sendfile umask dup dup2 dup3 flock
mmap mprotect munmap mremap madvise brk msync mincore mbind set_mempolicy get_mempolicy
getpid gettid getppid getuid geteuid getgid getegid getgroups getpgrp getpgid getsid getresuid getresgid
sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max
sched_get_priority_min getpriority getrusage times getrlimit sysinfo uname getcpu
exit exit_group wait4 waitid futex futex_waitv set_robust_list get_robust_list set_tid_address rseq membarrier
arch_prctl restart_syscall rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend
sigaltstack pause nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time alarm setitimer getitimer
timerfd_create timerfd_settime timerfd_gettime poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl
epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 pipe pipe2 signalfd4 getrandom
sendto recvfrom sendmsg recvmsg shutdown getsockname getsockopt setsockopt getpeername
""".split()  # noqa: SIM905 (as many quoted names would be a page)
# Programs that copy files go on if the file system has no such attributes.
UNSUPPORTED = tuple(f"{link}{call}xattr" for link in ("", "l", "f") for call in ("get", "list", "set", "remove"))
# Libraries take another way if the kernel says that it does not have these.
ABSENT = ("clone3", "memfd_create", "io_uring_setup", "statmount", "openat2", "mseal", "userfaultfd")
# They can change files that Landlock does not let the process write. They only seem to succeed: a program that copies a
# file also copies its mode and times, and would fail otherwise.
IGNORED = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "utimensat", "futimesat")
# Not those that let the kernel signal other processes (F_SETOWN, F_SETSIG, F_SETLEASE, F_NOTIFY).
FCNTLS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1031, 1032, 1033, 1034)
IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS TIOCGWINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX
PRCTLS = (3, 15, 16, 0x53564D41)  # PR_GET_DUMPABLE PR_SET_NAME PR_GET_NAME PR_SET_VMA
AF_UNIX = 1
CLONE_NAMESPACES = 0x7E020000 | 0x80
CLONE_THREAD = 0x10000
X32 = 0x40000000

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x50000
PRETEND = FAIL
"""Do nothing, and report success."""
REFUSE, UNKNOWN, NO_SUPPORT = FAIL | errno.EPERM, FAIL | errno.ENOSYS, FAIL | errno.ENOTSUP
NUMBER, ARCHITECTURE = 0, 4
"""Offsets in the record that the program judges."""


@dataclass(frozen=True, slots=True)
class Rules:
    """System calls that are allowed besides the base list."""

    may_exec: bool = False
    extra: tuple[str, ...] = ()


def program(rules: Rules) -> bytes:
    """The filter for this process. It names the process's id, the only one that may be signalled."""
    numbers = kernel.numbers()
    if kernel.MACHINE not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"seccomp: no rules for {kernel.MACHINE}")
    # Another calling convention (int 0x80, x32) has other numbers, and would get around the list.
    steps = [_step(LOAD, ARCHITECTURE), _step(EQUAL, ARCHITECTURES[kernel.MACHINE], 1, 0), _step(RETURN, KILL)]
    steps.append(_step(LOAD, NUMBER))
    if kernel.MACHINE == "x86_64":
        steps += [_step(AT_LEAST, X32, 0, 1), _step(RETURN, KILL)]
    for name, body in _judged().items():
        if name in numbers:
            steps += [_step(EQUAL, numbers[name], 0, len(body)), *body]
    for name, verdict in _verdicts(rules).items():
        if name in numbers:
            steps += [_step(EQUAL, numbers[name], 0, 1), _step(RETURN, verdict)]
    steps.append(_step(RETURN, REFUSE))
    return b"".join(steps)


def _verdicts(rules: Rules) -> dict[str, int]:
    """Calls that are judged by their name alone. All others are refused."""
    verdicts = dict.fromkeys(IGNORED, PRETEND) | dict.fromkeys(ABSENT, UNKNOWN) | dict.fromkeys(UNSUPPORTED, NO_SUPPORT)
    allowed = (*ALLOWED, *rules.extra, *(("execve", "execveat") if rules.may_exec else ()))
    return verdicts | dict.fromkeys(allowed, ALLOW)


def judge(rules: Rules) -> None:
    """Allow only these system calls from now on."""
    kernel.set_filter(program(rules))


def _judged() -> dict[str, list[bytes]]:
    """Calls that are judged by their arguments."""
    itself = (os.getpid(),)
    return {
        "ioctl": _only(1, IOCTLS),
        "fcntl": _only(1, FCNTLS),
        "sched_setaffinity": _only(0, (0, *itself)),
        "prctl": _only(0, PRCTLS),
        "socketpair": _only(0, (AF_UNIX,)),
        "kill": _only(0, itself),
        "tgkill": _only(0, itself),
        # Reading a limit, not setting one: the new one is null.
        "prlimit64": _only(2, (0,)),
        # Threads, not processes.
        "clone": [
            _step(LOAD, _argument(0)),
            _step(ANY_BIT, CLONE_NAMESPACES, 0, 1),
            _step(RETURN, REFUSE),
            _step(ANY_BIT, CLONE_THREAD, 1, 0),
            _step(RETURN, REFUSE),
            _step(RETURN, ALLOW),
        ],
    }


def _only(argument: int, values: Iterable[int]) -> list[bytes]:
    """Allow the call if this argument is one of these, with its upper half zero."""
    body = [_step(LOAD, _argument(argument) + 4), _step(EQUAL, 0, 1, 0), _step(RETURN, REFUSE)]
    body.append(_step(LOAD, _argument(argument)))
    for value in values:
        body += [_step(EQUAL, value, 0, 1), _step(RETURN, ALLOW)]
    return [*body, _step(RETURN, REFUSE)]


def _argument(index: int) -> int:
    return 16 + 8 * index  # the lower half: both machines are little-endian


def _step(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, operand & 0xFFFFFFFF)
