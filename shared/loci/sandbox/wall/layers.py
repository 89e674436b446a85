"""The layers of a wall, which of them together are strong enough, and what stays visible behind it."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum


class Layer(StrEnum):
    """A part of the wall that holds code back."""

    DESCRIPTORS = "descriptors"
    """Every open file is closed, except those that are named."""
    PRIVILEGES = "privileges"
    """No capabilities, no way to gain any, and without the layers below nobody of the same user can look into it."""
    LIMITS = "limits"
    """Memory, open files, file size."""
    NAMESPACES = "namespaces"
    """Mounts, processes, network and IPC of its own, with nothing else in them."""
    LANDLOCK = "landlock"
    """Files, signals and TCP, as the kernel's access rules allow them."""
    SECCOMP = "seccomp"
    """System calls, by an allow-list."""


BASE = frozenset({Layer.DESCRIPTORS, Layer.PRIVILEGES, Layer.LIMITS})
UNPRIVILEGED = BASE | {Layer.LANDLOCK, Layer.SECCOMP}
ALL = frozenset(Layer)
# Not /dev/zero: mapped, it is memory that no limit counts.
DEVICES = ("/dev/null", "/dev/urandom", "/dev/random")


def is_strong(layers: AbstractSet[Layer]) -> bool:
    """True if hostile code may run behind them: the kernel's surface is small, and files are out of reach."""
    return layers >= BASE | {Layer.SECCOMP} and bool(layers & {Layer.LANDLOCK, Layer.NAMESPACES})


@dataclass(frozen=True, slots=True)
class View:
    """Files and folders that stay visible, as absolute real paths. Harmless devices are always there."""

    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()
