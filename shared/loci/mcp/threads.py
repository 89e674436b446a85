"""Threads for work that would block the event loop.

Loci has its own: anyio ends its threads with every Lambda event, and the stores' connections with them. Calls that may
wait have other threads than calls that answer soon, so that no wait keeps everybody waiting.
"""

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from loci.core.background import cores
from loci.core.cancellation import Cancellation

AT_ONCE = 64
THREADS = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="loci")
SEARCHES = ThreadPoolExecutor(max(2, cores()), thread_name_prefix="loci search")
"""Threads for calls that keep a core busy: more at once answer no sooner, and writes would starve."""
WRITES = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="loci write")
"""Threads for calls that may wait for another writer."""
UPSTREAM = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="loci upstream")
"""Threads for calls that wait for another server."""
FOLLOWED = ThreadPoolExecutor(1, thread_name_prefix="loci followed")
"""The thread for streams of events. One thread leaves the processors to calls, however many clients read."""

P = ParamSpec("P")
T = TypeVar("T")


async def while_wanted(work: Callable[[Cancellation], T], threads: ThreadPoolExecutor = THREADS) -> T:
    """Run the work on one of these threads. It learns if its call is cancelled, and can stop."""
    cancelled = Cancellation()
    try:
        return await on_thread_of(threads, work, cancelled)
    except asyncio.CancelledError:
        cancelled.cancel()
        raise


def on_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
    """Run the work on a thread; await its result."""
    return on_thread_of(THREADS, work, *args, **kwargs)


def on_thread_of(
    threads: ThreadPoolExecutor, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> asyncio.Future[T]:
    """Run the work on one of these threads; await its result."""
    call = functools.partial(contextvars.copy_context().run, work, *args, **kwargs)
    return asyncio.get_running_loop().run_in_executor(threads, call)
