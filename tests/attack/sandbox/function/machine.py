"""A machine as a Lambda function is one: a command runs in it, and harms nothing outside.

The command has processes, a network and a user of its own, who may do nothing special. It reads all files, and writes
only below one folder. Of the wall's layers it may put up those that a function is reported to allow: no filter of
system calls, no Landlock, no namespaces. Whatever else functions are reported to refuse (ptrace, 32-bit calls) is let
through, so that no attack is taken for blocked by what nobody of us has seen there.
"""

import errno
import fcntl
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from loci.sandbox.wall import kernel, namespaces

RDONLY, RECURSIVE, HERE = 1, 0x8000, -100
REFUSED = (
    *("seccomp", "unshare", "setns", "chroot", "mount", "umount2", "pivot_root", "mount_setattr"),
    *("open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick"),
)
UNKNOWN = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "clone3")
NEW_NAMESPACES = 0x7E020000
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x50000
INSIDE = "inside"
NAME = "tests.attack.sandbox.function.machine"
ROOT = Path(__file__).parents[4]


def run(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """How the command ended in such a machine, whose only writable folder is this one."""
    given = [sys.executable, "-m", NAME, str(folder), *command]
    return subprocess.run(
        given,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT}/shared:{ROOT}", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )


def main(folder: str, command: list[str]) -> NoReturn:
    """Be the machine's first process, and end as the command does."""
    if folder == INSIDE:
        _be_first(command)
    namespaces.enter(None)
    _be_read_only_but(folder)
    _connect_loopback()
    kernel.set_filter(_refusals())
    # A program that is run anew has none of the capabilities that made the machine.
    os.execv(sys.executable, [sys.executable, "-m", NAME, INSIDE, *command])  # noqa: S606 (there is no shell)


def _be_first(command: list[str]) -> NoReturn:
    child = os.posix_spawn(command[0], command, os.environ)
    while True:
        ended, status = os.wait()  # also of those whose parents have ended
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            sys.exit(code if code >= 0 else 128 - code)


def _be_read_only_but(folder: str) -> None:
    kernel.mount("none", "/", None, namespaces.REC | namespaces.PRIVATE)
    kernel.mount("proc", "/proc", "proc", namespaces.NOSUID | namespaces.NODEV | namespaces.NOEXEC)
    kernel.mount(folder, folder, None, namespaces.BIND)
    _set_mount("/", RDONLY, 0)
    _set_mount(folder, 0, RDONLY)


def _set_mount(path: str, on: int, off: int) -> None:
    attributes = struct.pack("4Q", on, off, 0, 0)
    number = kernel.numbers()["mount_setattr"]
    kernel.call("mount_setattr", number, HERE, path.encode(), RECURSIVE, attributes, len(attributes))


def _connect_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up_and_running = struct.pack("16sH14x", b"lo", 0x1 | 0x40)
        fcntl.ioctl(any_socket, 0x8914, up_and_running)


def _refusals() -> bytes:
    """A filter that refuses what walls are made of, and nothing else."""
    numbers = kernel.numbers()
    steps = [_step(LOAD, 0)]
    for names, error in ((REFUSED, errno.EPERM), (UNKNOWN, errno.ENOSYS)):
        for name in names:
            steps += [_step(EQUAL, numbers[name], 0, 1), _step(RETURN, FAIL | error)]
    refused = [_step(RETURN, FAIL | errno.EPERM), _step(RETURN, ALLOW)]
    steps += [_step(EQUAL, numbers["clone"], 0, 4), _step(LOAD, 16), _step(ANY_BIT, NEW_NAMESPACES, 0, 1), *refused]
    steps += [
        _step(EQUAL, numbers["prctl"], 0, 4),
        _step(LOAD, 16),
        _step(EQUAL, kernel.PR_SET_SECCOMP, 0, 1),
        *refused,
    ]
    return b"".join([*steps, _step(RETURN, ALLOW)])


def _step(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, operand)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
