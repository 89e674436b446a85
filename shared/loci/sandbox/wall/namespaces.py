"""Namespaces: the process has mounts, processes, network and IPC of its own, with only the view in them.

They need a user namespace, which some distributions deny to unprivileged processes.
"""

import contextlib
import os
import select
from collections.abc import Callable

from loci.sandbox.wall import kernel
from loci.sandbox.wall.layers import DEVICES, View
from loci.sandbox.wall.restrictions import die_with_parent

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
# Flags that a user namespace cannot remove from a mount it did not make: as statvfs reports and mount takes them.
LOCKED = {os.ST_NOSUID: NOSUID, os.ST_NODEV: NODEV, os.ST_NOEXEC: NOEXEC, os.ST_NOATIME: 1024, os.ST_RELATIME: 1 << 21}
LOCKED[os.ST_NODIRATIME] = 2048
USER_INSIDE = 1000
ROOT = "/tmp"  # noqa: S108 (any existing folder will do: our own tmpfs hides it)
LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")


def enter(outside: Callable[[int], None] | None) -> None:
    """Enter new namespaces. This returns in a child, the first process of its namespace.

    The caller stays outside until the child ends, and ends as the child did. `outside` is called there, with the
    child's id. Killing the caller kills the child.
    """
    user, group = os.getuid(), os.getgid()
    kernel.unshare(NEWUSER | NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{USER_INSIDE} {user} 1")
    _write("/proc/self/gid_map", f"{USER_INSIDE} {group} 1")
    caller = None
    with contextlib.suppress(AttributeError, OSError):  # macOS has no such handles
        caller = os.pidfd_open(os.getpid())
    child = os.fork()
    if child:
        _wait(child, outside)
    # Its parent has no id in this namespace, whether it is there or not.
    die_with_parent(0)
    if caller is not None:
        has_ended = select.poll()
        has_ended.register(caller, select.POLLIN)
        if has_ended.poll(0):
            os._exit(1)
        os.close(caller)


def _wait(child: int, outside: Callable[[int], None] | None) -> None:
    if outside is not None:
        outside(child)
    os.closerange(0, 1 << 20)
    status = os.waitpid(child, 0)[1]
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def change_root(view: View) -> None:
    """Hide everything but the view, at the same paths, devices, and this namespace's own processes."""
    pivot = kernel.numbers()["pivot_root"]
    kernel.mount("none", "/", None, REC | PRIVATE)
    here = os.getcwd()
    opened = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC), flags) for path, flags in _binds(view)]
    links = [(path, os.readlink(path)) for path in LINKS if os.path.islink(path)]
    kernel.mount("tmpfs", ROOT, "tmpfs", NOSUID | NODEV, "size=1m,mode=755")
    for path, source, flags in opened:
        _bind(source, ROOT + path, flags)
    for path, target in links:
        if not os.path.lexists(ROOT + path):
            os.symlink(target, ROOT + path)
    _mount_proc()
    kernel.mount("none", ROOT, None, REMOUNT | BIND | RDONLY | NOSUID | NODEV)
    os.chdir(ROOT)
    kernel.call("pivot_root", pivot, b".", b".")
    kernel.unmount_lazily(".")
    for _, source, _ in opened:
        os.close(source)
    os.chdir(here if os.path.isdir(here) else "/")


def _binds(view: View) -> list[tuple[str, int]]:
    """The paths without repetitions, folders before their contents."""
    flags = dict.fromkeys(view.readable, RDONLY | NOSUID | NODEV)
    flags |= dict.fromkeys(view.executable, RDONLY | NOSUID | NODEV)
    flags |= dict.fromkeys(view.writable, NOSUID | NODEV | NOEXEC)
    flags |= dict.fromkeys(DEVICES, NOSUID | NOEXEC)
    return sorted((path, flag) for path, flag in flags.items() if os.path.exists(path))


def _bind(source: int, target: str, flags: int) -> None:
    """Show it there. If it cannot be shown, as below a link to somewhere else, it stays hidden."""
    opened = f"/proc/self/fd/{source}"
    if os.path.isdir(opened):
        try:
            os.makedirs(target, exist_ok=True)
        except OSError:
            return
    elif not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    held = os.statvfs(opened).f_flag
    kernel.mount(opened, target, None, BIND | REC)
    locked = sum(wanted for reported, wanted in LOCKED.items() if held & reported)
    kernel.mount("none", target, None, BIND | REMOUNT | flags | locked)


def _mount_proc() -> None:
    # numpy's and scikit-learn's libraries read /proc/self/maps.
    os.mkdir(f"{ROOT}/proc")
    try:
        kernel.mount("proc", f"{ROOT}/proc", "proc", NOSUID | NODEV | NOEXEC, "subset=pid")
    except OSError:  # kernels before 5.8 show all of it
        kernel.mount("proc", f"{ROOT}/proc", "proc", NOSUID | NODEV | NOEXEC)


def _write(path: str, text: str) -> None:
    opened = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    os.write(opened, text.encode())
    os.close(opened)
