"""Threads for what would block the event loop.

They are ours: anyio's own end with every Lambda event, and the stores' connections with them.
"""

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

THREADS = ThreadPoolExecutor(max_workers=64, thread_name_prefix="loci")

P = ParamSpec("P")
T = TypeVar("T")


async def while_wanted(work: Callable[[Callable[[], bool]], T]) -> T:
    """The same for work that asks whether it is still wanted: a call that is cancelled has been given up."""
    given_up = threading.Event()
    try:
        return await on_thread(work, given_up.is_set)
    except asyncio.CancelledError:
        given_up.set()
        raise


async def on_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the work returns, done beside the loop."""
    context = contextvars.copy_context()
    call = functools.partial(context.run, work, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(THREADS, call)
