"""Waiting for what happens elsewhere."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


def until(condition: Callable[[], T | None], seconds: float = 30) -> T:
    """The value of the condition as soon as it is true; a test that waits longer has failed."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)
    return found


async def until_told(condition: Callable[[], Awaitable[T | None]], seconds: float = 30) -> T:
    """The same for what is asked in the event loop."""
    end = time.monotonic() + seconds
    while not (found := await condition()):
        assert time.monotonic() < end, f"not within {seconds} s"
        await anyio.sleep(0.05)
    return found
