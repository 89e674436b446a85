"""The time that a request has: whatever it calls gets a share of what is left.

On AWS the API in front gives up after 29 s. On this machine nothing has a deadline.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from loci.core.errors import OutOfTime


@dataclass(frozen=True, slots=True)
class _Deadline:
    seconds: float
    """The whole time."""
    at: float


_deadline: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def within(seconds: float) -> Generator[None]:
    """Give the block this many seconds. Threads see it if they run in a copy of this context."""
    before = _deadline.set(_Deadline(seconds, time.monotonic() + seconds))
    try:
        yield
    finally:
        _deadline.reset(before)


def time_left() -> float | None:
    """Return the seconds that are left, perhaps less than none; None if there is no deadline."""
    deadline = _deadline.get()
    return None if deadline is None else deadline.at - time.monotonic()


def is_nearly_over(share: float) -> bool:
    """True if less than this share of the whole time is left. Never without a deadline."""
    deadline = _deadline.get()
    return deadline is not None and deadline.at - time.monotonic() < deadline.seconds * share


def time_for(most: float, *, of_all: float = 1.0, of_rest: float = 1.0) -> float:
    """Return the seconds that a call may take: `most`, but no more than these shares of the whole and of the rest.

    Raises `OutOfTime` if nothing is left.
    """
    deadline = _deadline.get()
    if deadline is None:
        return most
    left = deadline.at - time.monotonic()
    if left <= 0:
        raise out_of_time()
    return min(most, deadline.seconds * of_all, left * of_rest)


def time_to_end(most: float) -> float:
    """Return the seconds that a shutdown may take: 0, and no error, if the deadline is over."""
    left = time_left()
    return most if left is None else max(0.0, min(most, left))


def out_of_time() -> OutOfTime:
    """Return the error of a request that has no time left."""
    deadline = _deadline.get()
    whole = f" more than the {deadline.seconds:.0f} s that it has" if deadline else " too long"
    return OutOfTime(
        f"The call took{whole}",
        "Try again in a moment, or ask for less at once. If it was writing, look first if it has done so",
    )
