"""The layers of a wall, and which of them together are one."""

from collections.abc import Set as AbstractSet
from enum import StrEnum


class Layer(StrEnum):
    """One thing that holds code back."""

    DESCRIPTORS = "descriptors"
    """Every open file is closed but those that are named."""
    PRIVILEGES = "privileges"
    """No capabilities, no way to gain any, and nobody of the same user looks into the process."""
    LIMITS = "limits"
    """Memory, open files, file size, time."""
    NAMESPACES = "namespaces"
    """Own mounts, processes, network, IPC: nothing else is there."""
    LANDLOCK = "landlock"
    """Files, signals and TCP, as the kernel's access rules allow them."""
    SECCOMP = "seccomp"
    """System calls, by an allow-list."""


BASE = frozenset({Layer.DESCRIPTORS, Layer.PRIVILEGES, Layer.LIMITS})
UNPRIVILEGED = BASE | {Layer.LANDLOCK, Layer.SECCOMP}
ALL = frozenset(Layer)


def is_strong(layers: AbstractSet[Layer]) -> bool:
    """Whether hostile code may run behind them: the kernel's surface is small, and files are out of reach."""
    return layers >= BASE | {Layer.SECCOMP} and bool(layers & {Layer.LANDLOCK, Layer.NAMESPACES})
