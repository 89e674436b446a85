"""Files of this machine, written: each is the old one or the new one at any moment, and only where it belongs."""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress

from loci.core.errors import Conflict, Refused

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_file(folder: str, path: str, content: bytes, before: bytes | None, scratch: str) -> None:
    """Put the content at that path below the folder, over what is there: `before`, or nothing where that is None.

    `Conflict` where something else is there. `scratch` is a name for a file beside it, which a crash may leave.
    """
    with _explained(folder, path), _opened(folder, path, make=True) as (where, name):
        mode = None if before is None else _mode(name, where)
        try:
            with os.fdopen(os.open(scratch, NEW, 0o666, dir_fd=where), "wb") as file:
                file.write(content)
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                file.flush()
                os.fsync(file.fileno())
            _expect(name, where, before, path)  # as late as can be: editors take no turns
            if before is None:
                _put_new(scratch, name, where, path)
            else:
                os.rename(scratch, name, src_dir_fd=where, dst_dir_fd=where)
        finally:
            _unlink(scratch, where)
        os.fsync(where)


def remove_file(folder: str, path: str, before: bytes) -> None:
    """Take the file away; `Conflict` where it is not as it was."""
    with _explained(folder, path), _opened(folder, path, make=False) as (where, name):
        _expect(name, where, before, path)
        os.unlink(name, dir_fd=where)
        os.fsync(where)


def clear_scratch(folder: str, path: str, scratch: str) -> None:
    """Take away what a crash left beside the file."""
    with suppress(OSError), _opened(folder, path, make=False) as (where, _):
        _unlink(scratch, where)


@contextmanager
def _opened(folder: str, path: str, *, make: bool) -> Generator[tuple[int, str]]:
    """The folder that the file is in, opened part by part, so that no link leads elsewhere; and the file's name."""
    *above, name = path.split("/")
    where = os.open(folder, FOLDER)
    try:
        for part in above:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=where)
            below = os.open(part, FOLDER, dir_fd=where)
            os.close(where)
            where = below
        yield where, name
    finally:
        os.close(where)


def _mode(name: str, where: int) -> int:
    found = os.stat(name, dir_fd=where, follow_symlinks=False)
    if not os.access(name, os.W_OK, dir_fd=where):
        raise PermissionError(0, "it is write-protected")
    return stat.S_IMODE(found.st_mode)


def _expect(name: str, where: int, before: bytes | None, path: str) -> None:
    try:
        with os.fdopen(os.open(name, READ, dir_fd=where), "rb") as file:
            held = file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except FileNotFoundError:
        held = None
    if held != before:
        raise _changed(path)


def _put_new(scratch: str, name: str, where: int, path: str) -> None:
    try:
        os.link(scratch, name, src_dir_fd=where, dst_dir_fd=where)
    except FileExistsError:
        raise _changed(path) from None
    except OSError:  # this file system has no links
        os.rename(scratch, name, src_dir_fd=where, dst_dir_fd=where)


def _unlink(name: str, where: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=where)


def _changed(path: str) -> Conflict:
    return Conflict(f"{path} was changed while it was written", "Read it again, then decide")


@contextmanager
def _explained(folder: str, path: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError) and os.path.isdir(folder):  # noqa: PTH112
            raise _changed(path) from None
        raise Refused(
            f"{folder}/{path} cannot be written ({error.strerror})",
            "Correct its permissions, or choose another path",
            code="FILE_UNWRITABLE",
        ) from error
