"""What a process may use, and which files stay open in it."""

import os
import resource
from collections.abc import Collection
from dataclasses import dataclass

HIGHEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """None: as it is."""

    memory_bytes: int | None = None
    """RLIMIT_DATA: heap and private mappings. Reserved address space does not count, which V8 needs much of."""
    file_bytes: int | None = None
    open_files: int = 256
    processes: int | None = None
    """Tasks of the user; only where the process has a user namespace of its own, as others' tasks count elsewhere."""
    cpu_seconds: int | None = None


def limit(limits: Limits, *, own_user: bool) -> None:
    """Lower the limits for good: a lower one that is there stays."""
    wanted = {
        resource.RLIMIT_DATA: limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_NPROC: limits.processes if own_user else None,
        resource.RLIMIT_CPU: limits.cpu_seconds,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
    }
    for kind, value in wanted.items():
        if value is None:
            continue
        hard = resource.getrlimit(kind)[1]
        lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (lowest, lowest))


def close_others(keep: Collection[int]) -> None:
    """Close every file but these."""
    low = 0
    for one in [*sorted(set(keep)), HIGHEST]:
        if low < one:  # Python 3.11 takes an empty range from 0 for everything
            os.closerange(low, one)
        low = one + 1
