"""A full disk: its error, and work that frees room, which may use the room that is kept for it."""

import errno
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar

from loci.core.errors import LociError, Misconfigured, NoSpace

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def disk_error(error: OSError, where: object = None) -> LociError | None:
    """Return the error for a full disk, a used up quota or a read-only disk; None for any other reason."""
    place = where or error.filename or "a file"
    if error.errno in FULL:
        return no_space(place, str(error.strerror))
    if error.errno == errno.EROFS:
        return Misconfigured(
            f"Cannot write {place} ({error.strerror})", "Mount its disk so that it can be written", code="READ_ONLY"
        )
    return None


def no_space(place: object, why: str) -> NoSpace:
    """Return the error for a full disk."""
    return NoSpace(
        f"No space is left for {place} ({why})",
        "Free some disk space, then try again. Deleting documents and files still works",
    )


class Freeing(ExitStack):
    """Work that frees room. What is pushed here happens at its end."""

    is_short = False
    """True if it uses the room that is kept for it."""


_freeing: ContextVar[Freeing | None] = ContextVar("freeing", default=None)


@contextmanager
def freeing() -> Generator[None]:
    """Let the block use the room that is kept for deletions. Also a decorator of functions that delete."""
    if _freeing.get() is not None:
        yield
        return
    with Freeing() as work:
        before = _freeing.set(work)
        try:
            yield
        finally:
            _freeing.reset(before)


def current_freeing() -> Freeing | None:
    """Return the work of this context that frees room, if any is under way."""
    return _freeing.get()


def is_short() -> bool:
    """True if work is under way that frees room, and the disk is full."""
    work = _freeing.get()
    return work is not None and work.is_short
