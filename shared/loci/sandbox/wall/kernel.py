"""System calls for which Python has no function. Each acts on the calling process."""

import ctypes
import functools
import json
import os
import platform
from pathlib import Path

TABLE = Path(__file__).with_name("syscalls.json")
MACHINE = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())

PR_SET_PDEATHSIG = 1
PR_GET_DUMPABLE = 3
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47

_libc = ctypes.CDLL(None, use_errno=True)


@functools.cache  # behind a wall the file is out of sight
def numbers() -> dict[str, int]:
    """The system calls of this machine by name; empty if the machine is unknown."""
    return json.loads(TABLE.read_text("ascii")).get(MACHINE, {})


def call(name: str, number: int, *arguments: int | bytes | None) -> int:
    """Make the system call. `OSError` if it fails."""
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *given))
    if result < 0:
        _fail(name)
    return result


def prctl(option: int, *arguments: int) -> None:
    """Set an attribute of the process."""
    given = [*arguments, 0, 0, 0, 0][:4]
    if _libc.prctl(ctypes.c_int(option), *[ctypes.c_ulong(one) for one in given]) < 0:
        _fail(f"prctl({option})")


def set_filter(program: bytes) -> None:
    """Let the seccomp program judge every system call from now on."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    buffer = ctypes.create_string_buffer(program, len(program))
    whole = Program(len(program) // 8, ctypes.addressof(buffer))
    given = (ctypes.c_ulong(2), ctypes.byref(whole), ctypes.c_ulong(0), ctypes.c_ulong(0))
    if _libc.prctl(ctypes.c_int(PR_SET_SECCOMP), *given) < 0:
        _fail("seccomp")


def clear_capabilities() -> None:
    """Clear all effective, permitted and inheritable capabilities."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    if _libc.capset(header, (ctypes.c_uint32 * 6)()) < 0:
        _fail("capset")


def unshare(flags: int) -> None:
    """Leave the namespaces of these kinds for new ones."""
    if _libc.unshare(ctypes.c_int(flags)) < 0:
        _fail("unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mount, bind or remount."""
    names = [None if one is None else one.encode() for one in (source, target, kind)]
    if _libc.mount(*names, ctypes.c_ulong(flags), None if options is None else options.encode()) < 0:
        _fail(f"mount {target}")


def unmount_lazily(target: str) -> None:
    """Remove the mount from sight."""
    if _libc.umount2(target.encode(), ctypes.c_int(2)) < 0:
        _fail(f"umount {target}")


def _fail(what: str) -> None:
    number = ctypes.get_errno()
    raise OSError(number, f"{what}: {os.strerror(number)}")
