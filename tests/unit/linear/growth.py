"""How the time of a reader grows with its text: eight times the text may take 24 times as long, and no more."""

import gc
import math
import time
from collections.abc import Callable

STEP = 8
MOST_GROWTH = 24
"""Of the time, at `STEP` times the text: a linear reader takes 8 times as long, a quadratic one 64 times."""
FLOOR_SECONDS = 0.02
"""Below this, noise says more than the reader."""
FLOOR_SIZE = 4_000
"""The least text that has this floor: a quadratic reader that reaches it there takes as much less for a shorter one."""
REPEATS = 3
FIRST = 500

Read = Callable[[str], object]
Shape = Callable[[int], str]
"""Makes a text of about so many characters."""


def faulty_growth(read: Read, shape: Shape, most: int) -> str | None:
    """The sizes, times and growth if it is too much; None if it is fine up to `most` characters.

    It begins small, so a slow reader is found before it takes minutes. Only one that grows too much at the next step,
    too, is slow: some read a short text in another way, and a step from small to large pieces of memory shows once.
    """
    steps = max(1, math.ceil(math.log(most / FIRST, STEP) - 1e-9))
    size = most // STEP**steps
    before = seconds(read, shape(size))
    for _ in range(steps):
        size *= STEP
        now = seconds(read, shape(size))
        if _is_too_much(before, now, size):
            small, large = (min(seconds(read, shape(one)) for _ in range(REPEATS)) for one in (size, STEP * size))
            if _is_too_much(small, large, STEP * size):
                return f"{size:,} characters take {small:.4f} s, {STEP * size:,} take {large:.4f} s"
        before = now
    return None


def _is_too_much(before: float, now: float, size: int) -> bool:
    return now > FLOOR_SECONDS * min(1, size / FLOOR_SIZE) ** 2 and now > MOST_GROWTH * before


def seconds(read: Read, text: str) -> float:
    """The processor time that reading the text takes: it does not count while others have the processor."""
    gc.disable()
    try:
        began = time.thread_time()
        read(text)
        return time.thread_time() - began
    finally:
        gc.enable()
