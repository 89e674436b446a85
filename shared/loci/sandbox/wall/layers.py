"""The layers of a wall: which of them this machine offers, which are strong enough, and what stays visible behind it.

Each layer is tried in a process of its own.
"""

import functools
import json
import os
import sys
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Layer(StrEnum):
    """A part of the wall that holds code back."""

    DESCRIPTORS = "descriptors"
    """Closes every open file that is not named."""
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
SECONDS = 20
START = Path(__file__).parent.parent / "start.py"
VISIBLE = "/usr"
"""The folder that stays visible while a layer is tried."""


def is_strong(layers: AbstractSet[Layer]) -> bool:
    """True if hostile code may run behind them: the kernel's surface is small, and files are out of reach."""
    return layers >= BASE | {Layer.SECCOMP} and bool(layers & {Layer.LANDLOCK, Layer.NAMESPACES})


@dataclass(frozen=True, slots=True)
class View:
    """Files and folders that stay visible, as absolute real paths. Harmless devices are always there."""

    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Offered:
    """The layers that work on this machine, and why the others do not."""

    system: str
    refused: tuple[tuple[Layer, str], ...]

    @property
    def layers(self) -> frozenset[Layer]:
        return frozenset(Layer) - {layer for layer, _ in self.refused}


@dataclass(frozen=True, slots=True)
class Unsafe:
    """The machine has no wall that is safe for hostile code."""

    missing: str
    advice: str


@functools.cache
def offered() -> Offered:
    """The layers that this machine offers; each process tries them once."""
    system = " ".join((os.uname().sysname, os.uname().release, os.uname().machine)) if os.name == "posix" else os.name
    if not sys.platform.startswith("linux"):
        return Offered(system, tuple((layer, "only Linux has it") for layer in Layer))
    import subprocess  # nothing that runs behind the wall needs it

    command = [sys.executable, "-I", "-S", str(START), "wall.layers"]
    try:
        # An interpreter of its own: this process may have threads, and then it cannot be forked safely.
        ran = subprocess.run(  # noqa: S603
            command, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=True
        )
        refused = {Layer(name): str(why) for name, why in json.loads(ran.stdout).items()}
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return Offered(system, tuple((layer, f"it could not be tried: {error}"[:200]) for layer in Layer))
    return Offered(system, tuple((layer, refused[layer]) for layer in Layer if layer in refused))


def strongest(offered: Offered) -> frozenset[Layer] | Unsafe:
    """All layers that are offered; `Unsafe` if they do not make a wall."""
    if is_strong(offered.layers):
        return offered.layers
    needed = BASE | {Layer.SECCOMP, Layer.LANDLOCK}
    missing = "; ".join(f"{layer.value}: {why}" for layer, why in offered.refused if layer in needed)
    advice = (
        "Use Linux 5.13 or newer with Landlock and seccomp, or WSL2 on Windows. If Docker has no Landlock, start the "
        "container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt "
        "systempaths=unconfined"
    )
    return Unsafe(f"{offered.system} offers no wall ({missing})", advice)


def main(_: list[str]) -> None:
    """Print the layers that this machine refuses, and why, as JSON."""
    from loci.sandbox.wall import (  # only the process that tries them needs them
        landlock,
        namespaces,
        restrictions,
        seccomp,
    )

    def in_namespaces() -> None:
        namespaces.enter(None)
        namespaces.change_root(View(readable=(VISIBLE,)))

    def below_landlock() -> None:
        restrictions.give_up()
        landlock.restrict(View(readable=(VISIBLE,)), own_proc=False)

    def below_seccomp() -> None:
        restrictions.give_up()
        seccomp.judge(seccomp.SystemCallRules())

    tried: dict[Layer, Callable[[], None]] = {
        Layer.DESCRIPTORS: lambda: restrictions.close_others(()),
        Layer.PRIVILEGES: restrictions.give_up,
        Layer.LIMITS: lambda: restrictions.limit(restrictions.ProcessLimits(memory_bytes=1 << 30), own_user=False),
        Layer.NAMESPACES: in_namespaces,
        Layer.LANDLOCK: below_landlock,
        Layer.SECCOMP: below_seccomp,
    }
    refused = {layer.value: why for layer, put_up in tried.items() if (why := _why_not(put_up))}
    print(json.dumps(refused))


def _why_not(put_up: Callable[[], None]) -> str:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    child = os.fork()
    if child == 0:
        os.dup2(writing, 200)  # otherwise a layer that closes everything could not report its failure
        try:
            put_up()
        except OSError as error:
            os.write(200, str(error.strerror or error).encode())
            os._exit(1)
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 200).decode()
    os.close(reading)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return "" if code == 0 else said or f"it ends the process with {code}"
