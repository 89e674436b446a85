"""How the time of a reader grows with its text: twice the text may take 2.6 times as long, and no more."""

import gc
import math
import time
from collections.abc import Callable

MOST_GROWTH = 2.6
FLOOR_SECONDS = 0.02
"""Below this, noise says more than the reader."""
REPEATS = 5
FIRST = 500

Read = Callable[[str], object]
Shape = Callable[[int], str]
"""Makes a text of about so many characters."""


def faulty_growth(read: Read, shape: Shape, most: int) -> str | None:
    """The sizes, times and growth if it is too much; None if it is fine up to `most` characters.

    It begins small and doubles, so a reader that is cubic is found before it takes seconds. A slow reader grows too
    much at each doubling; a step from small to large pieces of memory shows only once. One that could be quadratic and
    would still be fast enough reads the largest text next: there noise would say more than it.
    """
    size, before = FIRST, seconds(read, shape(FIRST))
    last = size << math.ceil(math.log2(max(1, most / size)))
    while size < most:
        if last and before * (last / size) ** 2 < FLOOR_SECONDS:
            if seconds(read, shape(last)) <= FLOOR_SECONDS:
                return None
            last = 0
        double = shape(2 * size)
        now = seconds(read, double)
        if now > FLOOR_SECONDS and now > MOST_GROWTH * before:
            before, now = (min(seconds(read, text) for _ in range(REPEATS)) for text in (shape(size), double))
            is_slow = now > FLOOR_SECONDS and now > MOST_GROWTH * before
            if is_slow and min(seconds(read, shape(4 * size)) for _ in range(REPEATS)) > MOST_GROWTH * now:
                return f"{size:,} characters take {before:.3f} s, {2 * size:,} take {now:.3f} s"
        size, before = 2 * size, now
    return None


def seconds(read: Read, text: str) -> float:
    """The processor time that reading the text takes."""
    gc.disable()
    try:
        began = time.thread_time()
        read(text)
        return time.thread_time() - began
    finally:
        gc.enable()
