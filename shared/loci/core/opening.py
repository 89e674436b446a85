"""Opens files and folders part by part and follows no link, so that nobody leads Loci to a place outside a root.

To check a path before it is opened would not do: somebody may put a link in place between the two.
"""

import errno
import os

from loci.core.errors import Refused

NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | NO_LINK
# The system need not let us read the folders on the way, if it can open them without reading.
CAN_PASS = hasattr(os, "O_PATH")
ON_THE_WAY = (os.O_PATH if CAN_PASS else os.O_RDONLY) | os.O_DIRECTORY | NO_LINK
# It does not wait for the writer of a pipe.
FILE = os.O_RDONLY | os.O_NONBLOCK | NO_LINK
WHAT_A_LINK_GIVES = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
"""The errors of systems that are asked to open a link with `O_NOFOLLOW`."""


def open_file(root: str, below: str) -> int:
    """A descriptor of the file at that path below the root, to read it. Refused if a part of the path is a link.

    The root is absolute, with all links followed.
    """
    return _opened(root, below, FILE)


def open_folder(root: str, below: str = "") -> int:
    """A descriptor of the root or of a folder below it, to list it or to open what is in it. As `open_file`."""
    return _opened(root, below, FOLDER)


def _opened(root: str, below: str, flags: int) -> int:
    path = f"{root.rstrip('/')}/{below}".rstrip("/") or "/"
    try:
        if os.open in os.supports_dir_fd:
            return _by_parts(root, below, flags)
        return _as_it_was(path, os.open(path, flags))
    except OSError as error:
        if error.errno in WHAT_A_LINK_GIVES and os.path.realpath(path) != path:
            raise _leads_elsewhere(path, root) from None
        raise


def _by_parts(root: str, below: str, flags: int) -> int:
    start, names = ("/", _names(f"{root}/{below}")) if CAN_PASS else (root, _names(below))
    steps = [*([ON_THE_WAY] * len(names)), flags]
    opened = os.open(start, steps[0])
    for name, step in zip(names, steps[1:], strict=True):
        above = opened
        try:
            opened = os.open(name, step, dir_fd=above)
        finally:
            os.close(above)
    return opened


def _as_it_was(path: str, opened: int) -> int:
    """The descriptor, on a system that cannot open by parts; refused if the path leads through a link by now."""
    try:
        if os.path.realpath(path) == path and os.path.samestat(os.lstat(path), os.fstat(opened)):
            return opened
    except OSError:
        os.close(opened)
        raise
    os.close(opened)
    raise _leads_elsewhere(path, path)


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


def _leads_elsewhere(path: str, root: str) -> Refused:
    what = f"{path} is a link or lies behind one, and perhaps points outside {root}"
    return Refused(what, "Put the file itself there", code="OUTSIDE_ROOT")
