"""Threads for what would block the event loop.

They are ours: anyio's own end with every Lambda event, and the stores' connections with them.
"""

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

THREADS = ThreadPoolExecutor(max_workers=64, thread_name_prefix="loci")

P = ParamSpec("P")
T = TypeVar("T")


async def on_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the work returns, done beside the loop."""
    context = contextvars.copy_context()
    call = functools.partial(context.run, work, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(THREADS, call)
