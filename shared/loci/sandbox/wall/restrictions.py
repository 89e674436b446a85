"""Restrictions that a process puts on itself: limits, open files, privileges."""

import contextlib
import errno
import os
import resource
import signal
from collections.abc import Collection
from dataclasses import dataclass

from loci.sandbox.wall import kernel

HIGHEST = 1 << 20
WAITING_SIGNALS = 1024
"""All processes of a user share what the system allows: one that had it all would leave none to others."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits of a process. None: leave it as it is."""

    memory_bytes: int | None = None
    """RLIMIT_DATA: heap and private mappings. It does not count reserved address space; V8 needs much of it."""
    more_address_bytes: int | None = None
    """RLIMIT_AS, beyond what it has now. Each page that is only mapped needs a table, which no other limit counts."""
    file_bytes: int | None = None
    open_files: int = 256
    processes: int | None = None
    """Tasks of the user. Only in a user namespace of its own: elsewhere the user's other tasks count, too."""


def limit(limits: ProcessLimits, *, own_user: bool) -> None:
    """Lower the limits for good. A limit that is lower already stays."""
    wanted = {
        resource.RLIMIT_DATA: limits.memory_bytes,
        resource.RLIMIT_AS: _address_bytes(limits.more_address_bytes),
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_NPROC: limits.processes if own_user else None,
        resource.RLIMIT_SIGPENDING: WAITING_SIGNALS,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
    }
    for kind, value in wanted.items():
        if value is None:
            continue
        hard = resource.getrlimit(kind)[1]
        lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (lowest, lowest))


def _address_bytes(more: int | None) -> int | None:
    if more is None:
        return None
    with open("/proc/self/statm", encoding="ascii") as opened:
        return int(opened.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") + more


def close_others(keep: Collection[int]) -> None:
    """Close every file but these."""
    low = 0
    for one in [*sorted(set(keep)), HIGHEST]:
        if low < one:  # Python 3.11 takes an empty range from 0 for everything
            os.closerange(low, one)
        low = one + 1


def die_with_parent(parent: int) -> None:
    """Be killed when the thread that started this process ends, even while stopped.

    The machine of a function may refuse that. Then the process ends when it next reads from its parent.
    """
    with contextlib.suppress(OSError):
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has already ended
        os.kill(os.getpid(), signal.SIGKILL)


def hide() -> None:
    """Let nobody of the same user look into this process until it runs another program, if the system allows that."""
    with contextlib.suppress(OSError):
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


def show_to_supervisor() -> None:
    """Let processes of the same user look into this one: the supervisor counts the files that it holds.

    Only for code that other layers keep apart from all code of others.
    """
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)


def give_up() -> None:
    """Give up all capabilities for good, also for programs that are run, and hide from others of the same user."""
    for capability in range(64):
        try:
            kernel.prctl(kernel.PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.EPERM):  # past the last one; or none may be dropped
                break
            raise
    with contextlib.suppress(OSError):  # kernels before 4.3 have none
        kernel.prctl(kernel.PR_CAP_AMBIENT, 4)
    kernel.clear_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
